package e2e

import (
	"os"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

func TestACallWrittenAsTextIsRunAndNeverShown(t *testing.T) {
	for _, format := range []string{modeltest.OpenAI, modeltest.Mistral} {
		for name, text := range map[string]string{
			"brackets":   "[read_file]\n{\"path\":\"test.txt\"}",
			"after text": "Let me look.\n<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"test.txt\"}}\n</tool_call>",
			"tokens":     `[TOOL_CALLS][{"name":"read_file","arguments":{"path":"test.txt"}}]`,
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				w := newWorld(t, options{format: format, script: modeltest.Turns(
					modeltest.Turn{Text: text, Chunk: 3}, modeltest.Say("It says hello world."),
				)})
				must(t, os.WriteFile(w.workspace("test.txt"), []byte("hello world"), 0o644))
				w.say("what is in test.txt?")
				w.wait(func(messages []channeltest.SentMessage) bool {
					whole := transcript(messages)
					for _, marker := range []string{"[read_file]", "tool_call", "TOOL_CALLS", "arguments"} {
						if strings.Contains(whole, marker) {
							t.Errorf("the chat shows %q: %s", marker, whole)
						}
					}
					return len(messages) > 0 && strings.HasSuffix(messages[len(messages)-1].Text, "It says hello world.")
				})
				requests := w.model.Requests()
				if len(requests) != 2 {
					t.Fatalf("%d model calls, want 2", len(requests))
				}
				last := requests[1].Messages[len(requests[1].Messages)-1]
				if last.Role != "tool" || last.Text != "hello world" {
					t.Errorf("the second request ends with %+v, not with the file", last)
				}
			})
		}
	}
}
