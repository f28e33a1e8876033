// Package repair turns tool calls that a model wrote as text into tool calls.
//
// Local servers often pass a model's own call syntax through as text. [Wrap]
// decorates a model: it watches the text of the stream, holds back what may be
// the beginning of a call, and at the end either promotes what it held or lets
// it go, in order. Not one character of a promoted call is shown.
//
// A text is promoted only when nothing else can be meant:
//
//   - every call is complete and its arguments are a JSON object, or tagged
//     parameters that the tool's schema gives types to;
//   - every name is a tool of the request; one that isn't rejects all;
//   - the calls end the message; vendors' explicit tags and tokens may follow
//     prose, bare forms ([name], {"name": …}) must be the whole text;
//   - none of it stands in Markdown code;
//   - the model stopped by itself and made no call in the proper way.
//
// Each byte is looked at once, and at most 256,000 bytes are held; a call
// that is longer is dropped.
//
// The parsers are plain recursive code over a scanner; a coroutine suspends
// them between two deltas. The coroutine ends with the stream.
package repair
