#!/usr/bin/env python3
"""An MCP server without a library: one JSON-RPC message a line on stdin and
stdout. Real ones are easier with an SDK (https://modelcontextprotocol.io)."""
import json
import sys

NOTES = []
TOOLS = [{
    "name": "add",
    "description": "Adds a note to the list and returns the whole list. text: the note.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        NOTES.append(params["arguments"]["text"])
        return {"content": [{"type": "text", "text": "\n".join(NOTES)}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:  # the others are notifications
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params", {}))}
        print(json.dumps(reply), flush=True)
