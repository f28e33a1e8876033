// Package config is clawbot's one typed configuration: a TOML file, secrets
// from the environment, and what is chosen when there is neither.
//
// [Loader.Load] reads the file, expands ${NAME} and ${file:PATH}, decodes it over
// [Default] and checks every value. It reports everything that is wrong at
// once, each problem with its file, line, column, key and remedy (see [Error]).
// It doesn't use the network; [Config.Detect], which looks for a model when none
// is configured, may ask the local machine.
//
// The decoder is this package's own, over the positions that go-toml's parser
// reports, because a problem is told to a person: in the words of the file and
// not in those of Go's types. Rules about one value stand in its field's tags
// (see [rules]); rules about several are in validate.go.
package config
