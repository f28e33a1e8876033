package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"
	"time"
)

// pasteGap is how soon the next line of a paste follows the one before it.
const pasteGap = 40 * time.Millisecond

// readMessages returns a channel of messages, closed when the input has ended.
// A line that ends in a backslash goes on in the next. At a terminal, lines
// that come all at once, as a paste does, are one message.
func readMessages(ctx context.Context, in io.Reader, tty bool) <-chan string {
	messages := make(chan string)
	if in == nil {
		close(messages)
		return messages
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		readLines(ctx, in, lines)
	}()
	go func() {
		defer close(messages)
		for line := range lines {
			message := gather(line, lines, tty)
			select {
			case messages <- message:
			case <-ctx.Done():
				return
			}
		}
	}()
	return messages
}

func readLines(ctx context.Context, in io.Reader, lines chan<- string) {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			select {
			case lines <- strings.TrimRight(line, "\r\n"):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// gather returns the message that begins with line.
func gather(line string, lines <-chan string, tty bool) string {
	var b strings.Builder
	for {
		text, goesOn := strings.CutSuffix(line, `\`)
		b.WriteString(text)
		var ok bool
		switch {
		case goesOn:
			line, ok = <-lines
		case tty:
			line, ok = soon(lines)
		}
		if !ok {
			return b.String()
		}
		b.WriteByte('\n')
	}
}

// soon waits a moment for the next line of a paste.
func soon(lines <-chan string) (string, bool) {
	gap := time.NewTimer(pasteGap)
	defer gap.Stop()
	select {
	case line, ok := <-lines:
		return line, ok
	case <-gap.C:
		return "", false
	}
}
