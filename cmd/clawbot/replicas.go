package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawbot/config"
	"clawbot/store"
)

// This file is about what processes that share a store must agree on: whose bot
// it is, and which workspace.

// claimer is a store that several processes share.
type claimer interface {
	Claim(ctx context.Context, account, bot string) error
}

// claim refuses a store in which another bot's conversations are.
func claim(ctx context.Context, s store.Store, cfg *config.Channels) error {
	shared, ok := s.(claimer)
	if !ok {
		return nil
	}
	ids := botIDs(cfg)
	for _, account := range slices.Sorted(maps.Keys(ids)) {
		if err := shared.Claim(ctx, account, ids[account]); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// botIDs says who the configured bots are, as far as their tokens tell.
func botIDs(cfg *config.Channels) map[string]string {
	ids := map[string]string{}
	add := func(account, id string, ok bool) {
		if ok && id != "" {
			ids[account] = id
		}
	}
	if cfg.Telegram != nil {
		for name, a := range cfg.Telegram.Bots() {
			id, _, ok := strings.Cut(a.Token.Reveal(), ":")
			add(name, id, ok)
		}
	}
	if cfg.Discord != nil {
		for name, a := range cfg.Discord.Bots() {
			first, _, ok := strings.Cut(strings.TrimPrefix(a.Token.Reveal(), "Bot "), ".")
			id, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(first, "="))
			add(name, string(id), ok && err == nil)
		}
	}
	if cfg.Slack != nil {
		for name, a := range cfg.Slack.Bots() {
			// xapp-1-<app>-<number>-<secret>
			if parts := strings.Split(a.AppToken.Reveal(), "-"); len(parts) > 2 {
				add(name, parts[2], parts[0] == "xapp")
			}
		}
	}
	return ids
}

const (
	// workspaceKey is where the shared workspace's identity is kept.
	workspaceKey = "workspace/id"
	// workspaceMark is the file in the workspace that holds it.
	workspaceMark = ".clawbot-workspace"
)

// sharedWorkspace makes sure that every replica's file tools work on the same
// files: the workspace's mark must be the one that the first replica recorded.
type sharedWorkspace struct {
	state store.State
	dir   string
}

// check marks a new workspace and records the mark, if none is recorded yet.
func (w sharedWorkspace) check(ctx context.Context) error {
	mine, err := w.mark()
	if err != nil {
		return fmt.Errorf("tools.workspace: %w", err)
	}
	recorded, err := w.state.Get(ctx, workspaceKey)
	if errors.Is(err, store.ErrNotFound) {
		if _, err = w.state.Put(ctx, workspaceKey, []byte(mine), 0); errors.Is(err, store.ErrConflict) || err == nil {
			recorded, err = w.state.Get(ctx, workspaceKey)
		}
	}
	if err != nil {
		return fmt.Errorf("tools.workspace: %w", err)
	}
	if string(recorded.Data) != mine {
		return fmt.Errorf("tools.workspace: %s is not the folder that the other replicas use: mount the same volume on all of them"+
			" (if the workspace was moved, copy its file %s along)", w.dir, workspaceMark)
	}
	return nil
}

// mark reads the workspace's mark, made if need be.
func (w sharedWorkspace) mark() (string, error) {
	file := filepath.Join(w.dir, workspaceMark)
	for {
		data, err := os.ReadFile(file)
		if err == nil && len(data) > 0 {
			return strings.TrimSpace(string(data)), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		// The name appears with the content, for others may read it now.
		temporary, err := os.CreateTemp(w.dir, workspaceMark+"-*")
		if err != nil {
			return "", err
		}
		_, err = temporary.WriteString(rand.Text() + "\n")
		err = errors.Join(err, temporary.Close())
		if err == nil {
			err = os.Link(temporary.Name(), file)
		}
		_ = os.Remove(temporary.Name())
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}
