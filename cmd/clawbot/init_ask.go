package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"

	"clawbot/config"
)

// asker asks a person for what a configuration needs.
type asker struct {
	in  *bufio.Reader
	out io.Writer
	// hide keeps what is typed off the screen until show is called; it reports
	// whether that is possible.
	hide func() (show func(), ok bool)
}

// newAsker reports whether somebody can be asked.
func newAsker(io streams) (*asker, bool) {
	in, ok := io.in.(*os.File)
	if !ok || !isatty.IsTerminal(in.Fd()) {
		return nil, false
	}
	if out, ok := io.out.(*os.File); !ok || !isatty.IsTerminal(out.Fd()) {
		return nil, false
	}
	return &asker{bufio.NewReader(in), io.out, func() (func(), bool) { return hideInput(in) }}, true
}

func (a *asker) say(format string, args ...any) { _, _ = fmt.Fprintf(a.out, format, args...) }

var errNoAnswer = errors.New("nothing was written: the input has ended")

func (a *asker) line() (string, error) {
	text, err := a.in.ReadString('\n')
	if err != nil && text == "" {
		return "", errNoAnswer
	}
	return strings.TrimSpace(text), nil
}

// choose has one of several be picked, by number or by name; with free, any
// other word that free takes is an answer too.
func (a *asker) choose(question string, options []string, free func(string) bool) (string, error) {
	a.say("%s\n", question)
	for i, o := range options {
		a.say("  %d  %s\n", i+1, o)
	}
	for {
		a.say("> ")
		answer, err := a.line()
		if err != nil {
			return "", err
		}
		for i, o := range options {
			if answer == fmt.Sprint(i+1) || strings.EqualFold(answer, o) {
				return o, nil
			}
		}
		if free != nil && free(answer) {
			return answer, nil
		}
		a.say("One of the numbers, please.\n")
	}
}

// secret asks for something that is not shown.
func (a *asker) secret(what string) (string, error) {
	for {
		show, hidden := a.hide()
		if hidden {
			a.say("%s (not shown): ", what)
		} else {
			a.say("%s (this terminal shows it): ", what)
		}
		value, err := a.line()
		show()
		if hidden {
			a.say("\n")
		}
		if err != nil {
			return "", err
		}
		if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\'' }) {
			return value, nil
		}
		a.say("That is no key or token: it has no spaces, quotes or control characters. Paste it once more.\n")
	}
}

// wishes asks for what was not said by flags.
func (a *asker) wishes(w *wishes) error {
	const none = "only the page on this machine"
	where, err := a.choose("Where shall people talk to the bot, besides its own page?", []string{"Telegram", "Slack", "Discord", none}, nil)
	if err != nil {
		return err
	}
	w.telegram, w.slack, w.discord = where == "Telegram", where == "Slack", where == "Discord"
	if where == "Slack" {
		a.say("The app to make is printed by: clawbot slack manifest\n")
	}
	var models []string
	for _, v := range config.Vendors() {
		if v.Model != "" {
			models = append(models, v.Model)
		}
	}
	slices.Sort(models)
	w.model, err = a.choose("Which model shall answer? A number, or provider/model (ollama/qwen3).", models, func(answer string) bool {
		_, _, err := config.ModelRef(answer)
		return err == nil
	})
	if err != nil || where == none {
		return err
	}
	platform := strings.ToLower(where)
	a.say("Your own id in %s makes you the owner (Enter: later, by a code that you approve on this machine).\n> ", where)
	id, err := a.line()
	if err != nil || id == "" {
		return err
	}
	w.owners = []string{platform + ":" + strings.TrimPrefix(id, platform+":")}
	return nil
}
