package builtin

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed read_file.md
var readFileProse string

// Bounds of one read.
const (
	maxLines     = 2000
	maxReadBytes = 200 << 10
	maxImage     = 8 << 20
	sniffBytes   = 8 << 10
)

func readFile(locks *pathLocks) tools.Tool {
	return tools.Tool{
		Descriptor: describe("read_file", "Read file", readFileProse, `{
			"type": "object",
			"properties": {
				"path":   {"type": "string", "description": "File relative to the workspace"},
				"offset": {"type": "integer", "minimum": 1, "description": "First line, from 1"},
				"limit":  {"type": "integer", "minimum": 1, "description": "Number of lines"}
			},
			"required": ["path"]
		}`),
		Idempotent: true,
		Telling:    telling("path"),
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			return runReadFile(ctx, locks, call)
		},
	}
}

type readArgs struct {
	Path          string
	Offset, Limit int
}

func runReadFile(ctx context.Context, locks *pathLocks, call agentcore.Call) (agentcore.Result, error) {
	args, err := arguments[readArgs](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	root, name, unlock, err := locked(ctx, locks, args.Path)
	if err != nil {
		return agentcore.Result{}, err
	}
	defer unlock()
	f, info, err := openRegular(root, name)
	if err != nil {
		return agentcore.Result{}, err
	}
	defer f.Close()

	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return agentcore.Result{}, explain(name, err)
	}
	head = head[:n]
	if mimeType := http.DetectContentType(head); isImage(mimeType) {
		return readImage(f, head, name, mimeType, info.Size())
	}
	if isBinary(head) {
		return agentcore.Result{}, fmt.Errorf("%s is a binary file of %d bytes (%s): it can't be shown as text",
			name, info.Size(), http.DetectContentType(head))
	}
	return readLines(ctx, f, head, name, args, info.Size())
}

func isImage(mimeType string) bool {
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// isBinary reports whether the beginning of a file is not text. A character cut
// at the end of head is no sign of that.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 && utf8.FullRune(head) {
			return true
		}
		if size == 0 || !utf8.FullRune(head) {
			break
		}
		head = head[size:]
	}
	return false
}

func readImage(f *os.File, head []byte, name, mimeType string, size int64) (agentcore.Result, error) {
	if size > maxImage {
		return agentcore.Result{}, fmt.Errorf("%s is an image of %d bytes: more than the %d that can be looked at", name, size, maxImage)
	}
	rest, err := io.ReadAll(io.LimitReader(f, maxImage))
	if err != nil {
		return agentcore.Result{}, explain(name, err)
	}
	return agentcore.Result{Content: []agentcore.Block{
		agentcore.Text{Text: fmt.Sprintf("%s (%s, %d bytes)", name, mimeType, size)},
		agentcore.Image{MIMEType: mimeType, Data: append(head, rest...)},
	}}, nil
}

// readLines returns the lines asked for. It reads the file once, in a buffer of
// fixed size, so a file of any length costs no more memory than what is shown.
func readLines(ctx context.Context, f *os.File, head []byte, name string, args readArgs, size int64) (agentcore.Result, error) {
	first := max(args.Offset, 1)
	limit := args.Limit
	if limit == 0 || limit > maxLines {
		limit = maxLines
	}
	r := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), f), 64<<10)
	var out strings.Builder
	out.Grow(int(min(size, maxReadBytes)))
	line, shown, more, cut := 1, 0, false, false
	for {
		if ctx.Err() != nil {
			return agentcore.Result{}, context.Cause(ctx)
		}
		part, err := r.ReadSlice('\n')
		ended := err == nil
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return agentcore.Result{}, explain(name, err)
		}
		if len(part) > 0 && line >= first {
			if line >= first+limit || out.Len() >= maxReadBytes {
				more = true
				break
			}
			if room := maxReadBytes - out.Len(); len(part) > room {
				part, cut = part[:room], true
			}
			out.Write(part)
			shown = line
			if cut {
				more = true
				break
			}
		}
		if err != nil {
			break
		}
		if ended {
			line++
		}
	}
	return linesResult(out.String(), name, first, shown, more, cut), nil
}

func linesResult(text, name string, first, last int, more, cut bool) agentcore.Result {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	switch {
	case text == "" && first == 1:
		return agentcore.TextResult("(empty file)")
	case text == "":
		return agentcore.TextResult(fmt.Sprintf("[%s has fewer than %d lines]", name, first))
	case cut:
		text += fmt.Sprintf("\n[line %d is cut: a read shows at most %d bytes]", last, maxReadBytes)
	case more:
		text += fmt.Sprintf("\n[lines %d to %d shown; go on with offset %d]", first, last, last+1)
	}
	return agentcore.TextResult(text)
}
