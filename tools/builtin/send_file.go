package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed send_file.md
var sendFileProse string

// maxSend bounds a file that is sent, in bytes.
const maxSend = 50 << 20

func sendFile() tools.Tool {
	return tools.Tool{
		Descriptor: describe("send_file", "Send file", sendFileProse, `{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "File relative to the workspace"},
				"name": {"type": "string", "description": "Name it arrives under"}
			},
			"required": ["path"]
		}`),
		Mode:    agentcore.Sequential,
		Telling: telling("path"),
		Execute: runSendFile,
	}
}

func runSendFile(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[struct{ Path, Name string }](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	chat := tools.ScopeOf(ctx).Conversation
	if chat == nil {
		return agentcore.Result{}, errors.New("there is nobody to send a file to")
	}
	root, name, err := located(ctx, args.Path)
	if err != nil {
		return agentcore.Result{}, err
	}
	f, info, err := openRegular(root, name)
	if err != nil {
		return agentcore.Result{}, err
	}
	defer f.Close()
	switch {
	case info.Size() == 0:
		return agentcore.Result{}, fmt.Errorf("%s is empty: there is nothing to send", name)
	case info.Size() > maxSend:
		return agentcore.Result{}, fmt.Errorf("%s has %d bytes: files up to %d can be sent", name, info.Size(), maxSend)
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return agentcore.Result{}, explain(name, err)
	}
	sent := fileName(args.Name, name)
	content := io.MultiReader(bytes.NewReader(head[:n]), io.LimitReader(f, maxSend-int64(n)))
	if err := chat.SendFile(ctx, sent, mimeType(sent, head[:n]), content); err != nil {
		return agentcore.Result{}, fmt.Errorf("%s was not sent: %w", name, err)
	}
	return agentcore.TextResult(fmt.Sprintf("Sent %s as %s (%d bytes).", name, sent, info.Size())), nil
}

// fileName is a name without a path and without what a chat could be misled by.
func fileName(wanted, file string) string {
	if wanted == "" {
		wanted = file
	}
	name := strings.Map(func(r rune) rune {
		if isControl(r) || strings.ContainsRune("\u202a\u202b\u202d\u202e\u2066\u2067\u2068", r) {
			return '_'
		}
		return r
	}, path.Base(strings.ReplaceAll(wanted, `\`, "/")))
	if name == "." || name == "/" || name == ".." {
		return "file"
	}
	for len(name) > 200 {
		name = name[1:]
	}
	return strings.ToValidUTF8(name, "_")
}

func mimeType(name string, head []byte) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return http.DetectContentType(head)
}
