package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"clawbot/config"
)

// wishes are what a new configuration is to have.
type wishes struct {
	telegram, slack, discord bool
	model                    string
	owners                   []string
	all, force               bool
}

func newConfigInit(io streams, path *string) *cobra.Command {
	var w wishes
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration (default: ./clawbot.toml)",
		Long: "Write a configuration (default: ./clawbot.toml). On a terminal it asks for the platform, its token, the model and its key;\n" +
			"secrets are not shown, and go into the file .env beside it, which only its owner can read. With flags nothing is asked:\n" +
			"secrets are then taken from the environment when the bot runs, and must be there. Without a terminal and without flags\n" +
			"it writes every key with its default and a comment, as with --all. What it writes passes config check.",
		Example: "clawbot config init\nTELEGRAM_BOT_TOKEN=… ANTHROPIC_API_KEY=… clawbot config init --telegram --model anthropic/claude-sonnet-4-6",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file := *path
			if file == "" {
				file = "clawbot.toml"
			}
			flagged := w.telegram || w.slack || w.discord || w.model != "" || len(w.owners) > 0
			ask, terminal := newAsker(io)
			switch {
			case w.all && flagged:
				return errors.New("--all writes every key with its default; leave it out to write what the other flags say")
			case w.all || !flagged && !terminal:
				return writeConfig(io, file, config.Example(), nil, w.force)
			case flagged:
				ask = nil
			}
			return initConfig(io, file, w, ask)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&w.telegram, "telegram", false, "a bot in Telegram (TELEGRAM_BOT_TOKEN)")
	flags.BoolVar(&w.slack, "slack", false, "an app in Slack (SLACK_BOT_TOKEN, SLACK_APP_TOKEN)")
	flags.BoolVar(&w.discord, "discord", false, "a bot in Discord (DISCORD_BOT_TOKEN)")
	flags.StringVar(&w.model, "model", "", "`PROVIDER/MODEL` that answers")
	flags.StringSliceVar(&w.owners, "owner", nil, "`CHANNEL:ID` of an owner, such as telegram:12345; may be given several times")
	flags.BoolVar(&w.all, "all", false, "write every key with its default and a comment")
	flags.BoolVar(&w.force, "force", false, "write over a file that is there")
	return cmd
}

// secret is a value that a configuration needs.
type secret struct{ name, what string }

// secrets are those of what is wished for.
func (w *wishes) secrets() (list []secret) {
	provider, _, _ := strings.Cut(w.model, "/")
	for _, v := range config.Vendors() {
		if v.Name == provider && v.Env != "" {
			list = append(list, secret{v.Env, "Key of " + v.Name})
		}
	}
	if w.telegram {
		list = append(list, secret{"TELEGRAM_BOT_TOKEN", "Token of the bot, from @BotFather"})
	}
	if w.slack {
		list = append(list, secret{"SLACK_BOT_TOKEN", "Bot token of the app, xoxb-…"}, secret{"SLACK_APP_TOKEN", "App-level token, xapp-…"})
	}
	if w.discord {
		list = append(list, secret{"DISCORD_BOT_TOKEN", "Token of the bot, from https://discord.com/developers"})
	}
	return list
}

// text is the configuration.
func (w *wishes) text() string {
	var b strings.Builder
	b.WriteString("# Every other key, with its default and what it does: clawbot config init --all --config all.toml\n\n[agent]\n")
	if w.model == "" {
		b.WriteString("# model = \"provider/model\"   # none: the first vendor whose key is there\n")
	} else {
		fmt.Fprintf(&b, "model = %q\n", w.model)
	}
	provider, _, _ := strings.Cut(w.model, "/")
	for _, v := range config.Vendors() {
		if v.Name == provider && v.Env != "" {
			fmt.Fprintf(&b, "\n[providers.%s]\napi_key = \"${%s}\"\n", v.Name, v.Env)
		}
	}
	b.WriteString("\n[access]\n")
	if len(w.owners) == 0 {
		b.WriteString("owners = []                  # \"telegram:12345\"; with none, the first whose code is approved on this machine is the owner\n")
	} else {
		quoted := make([]string, len(w.owners))
		for i, owner := range w.owners {
			quoted[i] = fmt.Sprintf("%q", owner)
		}
		fmt.Fprintf(&b, "owners = [%s]\n", strings.Join(quoted, ", "))
	}
	if w.telegram {
		b.WriteString("\n[channels.telegram]\ntoken = \"${TELEGRAM_BOT_TOKEN}\"\n")
	}
	if w.slack {
		b.WriteString("\n[channels.slack]\nbot_token = \"${SLACK_BOT_TOKEN}\"\napp_token = \"${SLACK_APP_TOKEN}\"\n")
	}
	if w.discord {
		b.WriteString("\n[channels.discord]\ntoken = \"${DISCORD_BOT_TOKEN}\"\n")
	}
	return b.String()
}

// initConfig asks, if there is somebody to ask, and writes what passes a check.
func initConfig(io streams, file string, w wishes, ask *asker) error {
	if _, err := os.Lstat(file); err == nil && !w.force {
		return thereAlready(file)
	}
	if ask != nil {
		if err := ask.wishes(&w); err != nil {
			return err
		}
	}
	known, err := config.Dotenv(filepath.Join(filepath.Dir(file), ".env"))
	if err != nil {
		return err
	}
	var missing []string
	given := map[string]string{}
	for _, s := range w.secrets() {
		if strings.TrimSpace(os.Getenv(s.name)) != "" || known[s.name] != "" {
			if ask != nil {
				ask.say("%s: %s is set already\n", s.what, s.name)
			}
			continue
		}
		if ask == nil {
			missing = append(missing, s.name)
			continue
		}
		if given[s.name], err = ask.secret(s.what); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("nothing was written: set %s in the environment, or in %s, first; or run this on a terminal without flags, to be asked",
			strings.Join(missing, " and "), filepath.Join(filepath.Dir(file), ".env"))
	}
	return writeConfig(io, file, w.text(), given, w.force)
}

func thereAlready(file string) error {
	return fmt.Errorf("%s is there already and stays as it is; name another file with --config, move it away, or write over it with --force", file)
}

// writeConfig writes a configuration and secrets into the .env beside it, once
// both have passed a check in a folder of their own.
func writeConfig(io streams, file, text string, given map[string]string, force bool) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of %s: %w; name another file with --config", file, err)
	}
	dotenv := filepath.Join(dir, ".env")
	env, err := dotenvWith(dotenv, given)
	if err != nil {
		return err
	}
	if err := tryConfig(text, env); err != nil {
		return fmt.Errorf("nothing was written, since it would not pass: %w", err)
	}
	if len(given) > 0 {
		if err := replaceFile(dotenv, env); err != nil {
			return fmt.Errorf("write the secrets: %w", err)
		}
	}
	if force {
		err = replaceFile(file, text)
	} else {
		err = createFile(file, text)
	}
	if errors.Is(err, fs.ErrExist) {
		return thereAlready(file)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w; name another file with --config", err)
	}
	what := "wrote " + file
	if len(given) > 0 {
		what += " and " + dotenv
	}
	_, err = fmt.Fprintf(io.out, "%s; edit it, then: clawbot config check --config %s\n", what, file)
	return err
}

// dotenvWith is the file's text with more variables; those that it has stay.
func dotenvWith(path string, given map[string]string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the secrets: %w", err)
	}
	text := string(data)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text += name + "='" + given[name] + "'\n"
	}
	return text, nil
}

// tryConfig loads a configuration where it does no harm.
func tryConfig(text, env string) error {
	dir, err := os.MkdirTemp("", "clawbot-init")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "clawbot.toml")
	if err := errors.Join(createFile(file, text), createFile(filepath.Join(dir, ".env"), env)); err != nil {
		return err
	}
	l := newLoader()
	l.Path = file
	if _, err = l.Load(); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	return nil
}

func createFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// replaceFile puts a file in the place of another, whole or not at all.
func replaceFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".clawbot-init-*") // readable by its owner alone
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone, if all went well
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
