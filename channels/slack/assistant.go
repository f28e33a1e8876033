package slack

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

const (
	// maxTitle is the longest title of a conversation, and of a suggestion.
	maxTitle = 60
	// promptsKept is how long suggestions stand before they are made again.
	promptsKept = time.Hour
	keptThreads = 4096
)

// assistants knows the conversations of Slack's view for agents: threads in
// direct conversations that have a title and begin with suggestions.
type assistants struct {
	mu       sync.Mutex
	untitled map[string]bool      // begun, and nothing was said yet
	prompted map[string]time.Time // direct conversations with suggestions at their top
	off      bool                 // the app is no agent
}

// begun notes a thread that will get a title.
func (a *assistants) begun(chat, thread string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.untitled == nil || len(a.untitled) >= keptThreads {
		a.untitled = map[string]bool{}
	}
	a.untitled[chat+" "+thread] = true
}

// first reports, once, that a thread gets a title now.
func (a *assistants) first(chat, thread string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := chat + " " + thread
	was := a.untitled[key] && !a.off
	delete(a.untitled, key)
	return was
}

// prompt reports that a direct conversation needs suggestions.
func (a *assistants) prompt(chat string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.prompted[chat]) {
		return false
	}
	if a.prompted == nil || len(a.prompted) >= keptThreads {
		a.prompted = map[string]time.Time{}
	}
	a.prompted[chat] = now.Add(promptsKept)
	return true
}

func (a *assistants) disabled() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.off }
func (a *assistants) disable()       { a.mu.Lock(); a.off = true; a.mu.Unlock() }

// readAssistant reads that somebody opened a conversation in the older view for
// agents, or looks at another channel beside it.
func (c *Channel) readAssistant(ev *event) {
	t := ev.Assistant
	if t.Channel == "" || t.Thread == "" {
		return
	}
	if ev.Type == "assistant_thread_started" {
		c.assistants.begun(t.Channel, t.Thread)
	}
	c.suggest(t.Channel, t.Thread, t.Context.Channel)
}

// readHome reads that somebody opened their direct conversation with the bot.
func (c *Channel) readHome(ev *event) {
	if ev.Tab == "messages" && ev.Channel != "" && len(c.cfg.Prompts) > 0 && c.assistants.prompt(ev.Channel, time.Now()) {
		c.suggest(ev.Channel, "", "")
	}
}

// suggest shows the suggestions, beside receiving. viewed is the channel that
// the person looks at; what speaks of it is left out if it is not known.
func (c *Channel) suggest(chat, thread, viewed string) {
	if len(c.cfg.Prompts) == 0 || c.assistants.disabled() {
		return
	}
	c.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		name := ""
		if viewed != "" {
			name = c.rooms.name(ctx, c, viewed)
		}
		params := slack.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: chat, ThreadTS: thread}
		for _, text := range c.cfg.Prompts {
			if strings.Contains(text, "{channel}") {
				if name == "" {
					continue
				}
				text = strings.ReplaceAll(text, "{channel}", "#"+name)
			}
			params.AddPrompt(clip(text, maxTitle), text)
		}
		if len(params.Prompts) == 0 {
			return
		}
		c.agentCall(ctx, "assistant.threads.setSuggestedPrompts", func(ctx context.Context) error {
			return c.api.SetAssistantThreadsSuggestedPromptsContext(ctx, params)
		})
	})
}

// entitle gives a conversation the beginning of its first message as a title,
// beside receiving.
func (c *Channel) entitle(in *channels.Inbound) {
	to := in.Target
	if in.Kind != channels.Message || !to.Direct || to.Thread == "" || in.Sender.Bot {
		return
	}
	if c.cfg.DirectThreads && in.MessageID == to.Thread {
		c.assistants.begun(to.Chat, to.Thread)
	}
	title := titleOf(in.Text)
	if title == "" || strings.HasPrefix(title, "/") || !c.assistants.first(to.Chat, to.Thread) {
		return
	}
	c.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		c.agentCall(ctx, "assistant.threads.setTitle", func(ctx context.Context) error {
			return c.api.SetAssistantThreadsTitleContext(ctx, slack.AssistantThreadsSetTitleParameters{ChannelID: to.Chat, ThreadTS: to.Thread, Title: title})
		})
	})
}

// titleOf is the first line of a text, cut at a word.
func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if utf8.RuneCountInString(line) <= maxTitle {
		return line
	}
	line = string([]rune(line)[:maxTitle-1])
	if i := strings.LastIndexByte(line, ' '); i > maxTitle/2 {
		line = line[:i]
	}
	return line + "…"
}

// agentCall makes a call that only agents may make. It fails without a word: a
// conversation is one without title and suggestions, too.
func (c *Channel) agentCall(ctx context.Context, method string, do func(context.Context) error) {
	err := c.call(ctx, callTimeout, method, do)
	if is(err, "missing_scope", "unknown_method", "method_deprecated", "not_allowed_token_type", "feature_not_enabled", "not_authorized") {
		c.assistants.disable()
	}
	if err != nil {
		c.log.Debug("a conversation stays without its title or suggestions", "error", err)
	}
}
