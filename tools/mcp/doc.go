// Package mcp brings the tools of Model Context Protocol servers into the
// registry: programs that speak it on stdin and stdout, and streamable HTTP
// endpoints. The protocol itself is the official SDK's.
//
// A [Server] is kept connected by [Server.Run]: it is started, asked for its
// tools, asked again when it says that they have changed, and started anew, with
// growing pauses, when it dies. What it offers is a [tools.Source]; while it is
// down, [Server.Err] says why.
//
// A server is trusted as far as its owner's configuration goes and no further:
// what it returns reaches the model as text from outside, its tools run one
// after the other and are not repeated after a crash unless configured
// otherwise, and a tool whose schema is none is left out.
package mcp
