// Package modeltest is a scripted model server over real HTTP, for end-to-end
// tests and load runs. It speaks OpenAI's Chat Completions, Anthropic's Messages,
// Gemini's generateContent and Mistral's chat completions, streamed and not; the
// path decides. It is written from the vendors'
// documentation, apart from our own adapters, and refuses requests that the
// vendors would refuse: a tool call without its result, an empty text block.
//
// A [Script] says what the model answers. Every stream runs in the goroutine of
// its HTTP request and holds no lock while it waits, so thousands can be open.
package modeltest
