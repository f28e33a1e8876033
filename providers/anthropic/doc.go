// Package anthropic speaks the Anthropic Messages API, streaming
// (https://docs.anthropic.com/en/api/messages), to Anthropic itself and to
// servers that imitate it.
package anthropic
