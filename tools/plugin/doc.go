// Package plugin brings tools and hooks of other programs into the registry: a
// directory with a plugin.toml names them, and each is a subprocess that reads
// one JSON document on stdin and writes one on stdout.
//
// A plugin is the operator's own: it is not in the sandbox. It inherits nothing
// of the bot's environment but what its manifest lists, is killed with all that
// it started when its time is up, and what it returns reaches the model as text
// from outside. A hook that fails, or answers with nonsense, blocks.
package plugin
