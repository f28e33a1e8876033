// Package openai speaks the two formats of OpenAI, streaming: Chat Completions
// (https://platform.openai.com/docs/api-reference/chat), which most other
// vendors and local servers speak too, and Responses
// (https://platform.openai.com/docs/api-reference/responses).
//
// What servers of the first differ in is in the compatibility table of the
// parent package; what they get wrong in streams is mended here.
package openai
