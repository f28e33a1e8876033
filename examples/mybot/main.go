// Mybot is a bot of its own, made of clawbot's packages: its channel is a TCP
// port where each line is a message, and it has one tool of its own.
//
//	go run ./examples/mybot
//	nc 127.0.0.1 7007
//
// What it gets for that: conversations that survive a crash, steering, /stop,
// follow-ups, access and all the rest of the gateway. The built-in demo model
// answers; put a model of clawbot/providers in its place.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway"
	"clawbot/providers"
	"clawbot/providers/demo"
	"clawbot/store/sqlite"
	"clawbot/tools"
)

func main() {
	address := flag.String("listen", "127.0.0.1:7007", "where to listen")
	database := flag.String("db", "mybot.db", "the database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err == nil {
		fmt.Println("listening on", listener.Addr())
		err = run(ctx, listener, *database)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mybot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listener net.Listener, database string) error {
	store, err := sqlite.Open(ctx, sqlite.Config{Path: database})
	if err != nil {
		return err
	}
	defer store.Close()
	model, err := demo.New(providers.Config{Name: "demo"}, "demo")
	if err != nil {
		return err
	}
	box, err := newToolbox()
	if err != nil {
		return err
	}
	bot, err := gateway.New(gateway.Config{
		Store: store, Model: model, Toolbox: box, Channels: []channels.Channel{newPort(listener)},
		Agent:  gateway.Agent{Name: "mybot"},
		Access: gateway.Access{DMPolicy: "open"},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return bot.Run(ctx)
}

// toolbox gives everybody the same tools.
type toolbox struct{ registry *tools.Registry }

// For implements [gateway.Toolbox].
func (b toolbox) For(context.Context, gateway.ToolRequest) []*agentcore.Tool {
	set, err := b.registry.Set(tools.Request{})
	if err != nil {
		return nil // newToolbox has tried it
	}
	return set.Tools
}

// place is what the tool takes; its schema is made of this.
type place struct {
	Timezone string `json:"timezone" jsonschema:"an IANA time zone, such as America/Lima"`
}

func newToolbox() (toolbox, error) {
	clock, err := tools.Func("current_time", "Tells the time of day in a time zone.", func(_ context.Context, in place) (string, error) {
		if in.Timezone == "" {
			return "", errors.New("name a time zone")
		}
		return "tea time", nil
	})
	if err != nil {
		return toolbox{}, err
	}
	box := toolbox{tools.NewRegistry()}
	if err := box.registry.Rebuild(tools.Source{Name: "mybot", Kind: tools.Custom, Tools: []tools.Tool{clock}}); err != nil {
		return toolbox{}, err
	}
	_, err = box.registry.Set(tools.Request{})
	return box, err
}
