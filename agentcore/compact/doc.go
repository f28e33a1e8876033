// Package compact keeps a conversation within a model's context window: it
// counts tokens, finds where a transcript may be cut, and has a model write a
// summary of what lies before the cut.
//
// It changes no transcript. The caller stores the summary and the first kept
// position, and shows the model the summary followed by the kept messages; the
// full history stays where it is.
package compact
