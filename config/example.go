package config

import _ "embed"

//go:generate cp ../config.example.toml example.toml

//go:embed example.toml
var example string

// Example returns config.example.toml: every key with its default and a comment.
func Example() string { return example }
