// Package markdown renders what a model writes (CommonMark with GFM) for the
// platforms, and splits it into messages that each platform takes.
//
// There is one syntax tree and one walk over it (walk.go, inline.go, table.go);
// a dialect per platform says how a bold word or a code block looks there:
// Telegram as plain text with entities, Slack as mrkdwn or as the text of a
// markdown block, Discord as its own Markdown. No dialect lets text ping
// anybody: mentions are made inert, and a link whose text names another host
// than it leads to is written out.
//
// [Split] cuts a text at block boundaries into chunks that each render within a
// limit in the platform's own unit. [Repair] makes the unfinished end of a text
// that is still being streamed presentable.
//
// Everything here is a pure function and safe for concurrent use.
package markdown
