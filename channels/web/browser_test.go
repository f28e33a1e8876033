package web

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/internal/browsertest"
	"clawbot/server"
)

// patience is for a loaded machine; nothing is expected to take long.
const patience = 30 * time.Second

// tab is a browser tab that looks at the page of a bot.
type tab struct {
	*bot
	*browsertest.Tab
}

// browse serves the page as the program does, with the server's headers, and
// opens a tab.
func browse(t *testing.T) *tab {
	t.Helper()
	b, base := serveBot(t, server.Config{Listen: "127.0.0.1:0"})
	return openTab(t, b, base)
}

func serveBot(t *testing.T, cfg server.Config) (*bot, string) {
	t.Helper()
	b := newBot(t)
	var err error
	b.channel, err = New(Config{Transcripts: b, Info: func() Info {
		return Info{Name: "clawbot", Model: "demo/demo", Demo: true, Labels: map[string]string{"read_file": "Read file"}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := b.channel
	_ = c.RegisterCommands(t.Context(), []channels.Command{{Name: "stop", Description: "Stop what I am doing"}, {Name: "status", Description: "What I am doing"}})
	cfg.Pages = []channels.Handler{c}
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Receive(ctx, b) })
	wg.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return b, strings.TrimSuffix(s.URL(), "/")
}

func openTab(t *testing.T, b *bot, base string) *tab {
	t.Helper()
	return &tab{b, browsertest.Open(t, base)}
}
