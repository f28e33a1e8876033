package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawbot/config"
	"clawbot/tools/sandbox"
)

// files looks at who else can read what holds secrets or conversations.
func (d *doctor) files(context.Context) []finding {
	var list []finding
	if file := d.cfg.Origin.File; file != "" && othersRead(file) && holdsSecret(file, d.cfg.Secrets()) {
		list = append(list, warn("chmod 600 "+file+", or write secrets as ${NAME} and keep them in the environment",
			"everybody on this machine can read the secrets in %s", file))
	}
	if d.cfg.Store.Driver == "sqlite" && othersRead(d.cfg.Store.Path) {
		list = append(list, warn("chmod 600 "+d.cfg.Store.Path, "everybody on this machine can read the conversations in %s", d.cfg.Store.Path))
	}
	if path := d.cfg.Log.Audit; path != "" {
		if err := canWrite(filepath.Dir(path)); err != nil {
			list = append(list, fail("name a file that clawbot may write in log.audit", "the audit log can't be written: %v", err))
		} else if othersRead(path) {
			list = append(list, warn("chmod 600 "+path, "everybody on this machine can read the audit log %s", path))
		}
	}
	for _, path := range d.cfg.Files() {
		// Of the configuration is said above, of the .env where it was read. What
		// is mounted into a container is a link, and nobody else is in there.
		if path == d.cfg.Origin.File || filepath.Base(path) == ".env" || !d.namesSecret(path) {
			continue
		}
		if link, err := os.Lstat(path); err == nil && link.Mode().IsRegular() && othersRead(path) {
			list = append(list, warn("chmod 600 "+path, "everybody on this machine can read the secret in %s", path))
		}
	}
	if dir := d.cfg.Log.WireDir; d.cfg.Log.Wire && othersRead(dir) {
		list = append(list, warn("chmod 700 "+dir, "everybody on this machine can read what went to models in %s", dir))
	}
	if len(list) == 0 {
		list = append(list, ok("nobody else can read the database, or secrets in the configuration"))
	}
	return list
}

// namesSecret reports whether what a file holds is a secret of the configuration.
func (d *doctor) namesSecret(path string) bool {
	const most = 64 << 10 // as for ${file:…}
	info, err := os.Stat(path)
	if err != nil || info.Size() > most {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && slices.Contains(d.cfg.Secrets(), strings.TrimSpace(string(text)))
}

func othersRead(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o044 != 0
}

func holdsSecret(file string, secrets []string) bool {
	text, err := os.ReadFile(file)
	return err == nil && slices.ContainsFunc(secrets, func(s string) bool {
		return len(s) > 4 && bytes.Contains(text, []byte(s))
	})
}

func (d *doctor) workspace(context.Context) []finding {
	dir := d.cfg.Tools.Workspace
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := canMake(dir); err != nil {
			return []finding{fail("set tools.workspace to a folder that clawbot may make", "%s can't be made: %v", dir, err)}
		}
		return []finding{ok("%s is made at the first start", dir)}
	case err != nil:
		return []finding{fail("set tools.workspace to a folder that clawbot may use", "%v", err)}
	case !info.IsDir():
		return []finding{fail("name another in tools.workspace, or move it away", "%s is no folder", dir)}
	}
	if err := canWrite(dir); err != nil {
		return []finding{fail("change its owner or mode, or set tools.workspace", "files can't be written in %s: %v", dir, err)}
	}
	return []finding{ok("%s", dir)}
}

// canWrite tries to make a file in dir.
func canWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".clawbot-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// canMake reports whether a folder that is not there could be made.
func canMake(dir string) error { return canWrite(existing(dir)) }

// existing is the closest folder at or above path that is there.
func existing(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

const (
	diskFull = 64 << 20
	diskLow  = 512 << 20
)

// disk looks at the space for what grows.
func (d *doctor) disk(context.Context) []finding {
	places := map[string]string{"workspace": d.cfg.Tools.Workspace}
	if d.cfg.Store.Driver == "sqlite" {
		places["database"] = d.cfg.Store.Path
	}
	var list []finding
	for _, what := range []string{"database", "workspace"} {
		path, used := places[what]
		if !used {
			continue
		}
		dir := existing(path)
		v, err := volumeOf(dir)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			list = append(list, info("free space is not looked at on this system"))
			return list
		case err != nil:
			list = append(list, fail("", "the disk of the %s can't be asked: %v", what, err))
		case v.free < diskFull:
			list = append(list, fail("free space, or move the "+what, "%s free for the %s in %s", megabytes(v.free), what, dir))
		case v.free < diskLow:
			list = append(list, warn("free space, or move the "+what, "%s free for the %s in %s", megabytes(v.free), what, dir))
		default:
			list = append(list, ok("%s free for the %s", megabytes(v.free), what))
		}
		if err == nil && what == "database" && v.network != "" {
			list = append(list, warn("keep the database on a local disk (store.path); a file system of another machine may lose or lock it",
				"the database is on %s", v.network))
		}
	}
	return list
}

// volume is a file system.
type volume struct {
	free int64 // bytes that this user may still use
	// network names the protocol of a file system on another machine.
	network string
}

func megabytes(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GB", n>>30)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// sandbox looks for what confines commands, if they are on.
func (d *doctor) sandbox(context.Context) []finding {
	if !slices.Contains(d.cfg.Tools.Enabled, "exec") && !slices.Contains(d.cfg.Tools.Enabled, "process") || slices.Contains(d.cfg.Tools.Deny, "exec") {
		return []finding{info("not needed: the tools exec and process are off")}
	}
	if d.cfg.Tools.Sandbox == "off" {
		return []finding{warn(`set tools.sandbox = "auto"`, "commands run unconfined, with all the rights of this user (tools.sandbox = \"off\")")}
	}
	kind, err := sandbox.New(sandbox.Config{}).Check()
	if err != nil {
		return []finding{warn("", "exec and process refuse to run: %v", err)}
	}
	return []finding{ok("%s confines commands", kind)}
}

// access looks for doors that are open wider, or closed tighter, than anybody
// wants.
func (d *doctor) access(context.Context) []finding {
	var list []finding
	a := &d.cfg.Access
	platforms := d.platformNames()
	if len(platforms) == 0 {
		return []finding{info("people reach the bot on its page and in the terminal alone: no channel is configured")}
	}
	if len(a.Owners) == 0 {
		list = append(list, warn(`set access.owners = ["telegram:12345"], with your own id`, "the bot has no owner: nobody on %s may use its files", strings.Join(platforms, ", ")))
	}
	for _, c := range d.channelAccess() {
		if c.policy == "open" {
			list = append(list, warn("set channels."+c.name+`.dm_policy = "allowlist" unless that is meant`, "everybody on %s may write to the bot in private", c.name))
		}
		if c.policy == "allowlist" && len(c.allow) == 0 && len(a.Owners) == 0 {
			list = append(list, fail("set channels."+c.name+".allow_from or access.owners", "nobody may write to the bot on %s: the allowlist is empty", c.name))
		}
	}
	if len(list) == 0 {
		list = append(list, ok("%s; policies %s in private, %s in groups", strings.Join(a.Owners, ", "), a.DMPolicy, a.GroupPolicy))
	}
	return list
}

// door is how one channel lets people in.
type door struct {
	name, policy string
	allow        []string
}

func (d *doctor) channelAccess() []door {
	var list []door
	add := func(name string, c *config.ChannelAccess) {
		policy := c.DMPolicy
		if policy == "" {
			policy = d.cfg.Access.DMPolicy
		}
		list = append(list, door{name, policy, c.AllowFrom})
	}
	c := &d.cfg.Channels
	if c.Telegram != nil && c.Telegram.Enabled {
		add("telegram", &c.Telegram.ChannelAccess)
	}
	if c.Slack != nil && c.Slack.Enabled {
		add("slack", &c.Slack.ChannelAccess)
	}
	if c.Discord != nil && c.Discord.Enabled {
		add("discord", &c.Discord.ChannelAccess)
	}
	return list
}

// platformNames are the platforms that are on.
func (d *doctor) platformNames() []string {
	var names []string
	for _, p := range platforms() {
		if accounts, _ := p.accounts(&d.cfg.Channels); len(accounts) > 0 {
			names = append(names, p.name)
		}
	}
	return names
}
