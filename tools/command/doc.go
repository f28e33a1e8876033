// Package command reads a command line as a model writes it, and says whether
// it may run.
//
// [Parse] takes the line apart with a POSIX shell parser. Literal words, pipes,
// && || and ; become a list of argument vectors, which is run as it stands: what
// was judged is what runs, and no shell reads it again. Everything else (an
// expansion, a redirection, an assignment, a loop, …) makes the line opaque:
// only a person can let it pass, and then a shell runs it.
//
// [Policy.Judge] says allow, ask or deny. A list of allowed programs is no
// boundary, since programs run other programs; the sandbox is. The lists only
// decide whom a command must convince.
package command
