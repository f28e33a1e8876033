// Package mistral speaks Mistral's chat completions, streaming
// (https://docs.mistral.ai/api/), to Mistral itself and to servers that imitate
// it. It resembles OpenAI's format, but is strict where that is lenient: about
// ids, about the order of roles, and about fields that it does not know.
package mistral
