package agentcore

import (
	"context"
	"slices"
)

// view is the transcript as the default conversion shows it to the model. It is
// kept between model calls, so that each costs only what is new.
type view struct {
	messages []*Message
	seen     int // messages of the transcript looked at
}

func (v *view) of(transcript []*Message) []*Message {
	for ; v.seen < len(transcript); v.seen++ {
		if m := transcript[v.seen]; shown(m) {
			v.messages = append(v.messages, m)
		}
	}
	return slices.Clip(v.messages)
}

// ConvertToLLM is the default of [Config.ConvertToLLM]: it keeps user,
// assistant and toolResult messages, but no assistant message that failed or
// has nothing in it.
func ConvertToLLM(messages []*Message) []*Message {
	var v view
	return v.of(messages)
}

func shown(m *Message) bool {
	switch m.Role {
	case RoleUser, RoleToolResult:
		return true
	case RoleAssistant:
		return m.Stop != StopError && hasContent(m)
	}
	return false
}

func hasContent(m *Message) bool {
	for _, b := range m.Content {
		if t, ok := value(b).(Text); !ok || t.Text != "" {
			return true
		}
	}
	return false
}

// request builds the next model call. note, if not empty, is a user message
// that only this call sees.
func (r *run) request(note string) (*Request, *Error) {
	cfg := &r.l.cfg
	messages, err := r.context()
	if err != nil {
		return nil, err
	}
	if note != "" {
		messages = append(slices.Clip(messages), &Message{Role: RoleUser, Content: []Block{Text{Text: note}}})
	}
	return &Request{
		Session: cfg.Session, System: r.system, Messages: messages, Tools: r.l.tools.specs,
		MaxTokens: cfg.MaxTokens, Temperature: cfg.Temperature, Thinking: r.thinking,
	}, nil
}

func (r *run) context() (messages []*Message, failed *Error) {
	cfg := &r.l.cfg
	if cfg.TransformContext == nil && cfg.ConvertToLLM == nil {
		return r.l.view.of(r.l.messages), nil
	}
	messages = r.l.Messages()
	if cfg.TransformContext != nil {
		failed = r.hook("TransformContext", func(ctx context.Context) (err error) {
			messages, err = cfg.TransformContext(ctx, messages)
			return err
		})
		if failed != nil {
			return nil, failed
		}
	}
	convert := cfg.ConvertToLLM
	if convert == nil {
		convert = ConvertToLLM
	}
	failed = r.hook("ConvertToLLM", func(context.Context) error {
		messages = convert(messages)
		return nil
	})
	return messages, failed
}
