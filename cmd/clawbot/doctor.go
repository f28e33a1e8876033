package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"clawbot/config"
	"clawbot/internal/redact"
	"clawbot/internal/version"
)

// doctorTimeout bounds each of doctor's checks.
const doctorTimeout = 30 * time.Second

func newDoctor(io streams, loader func() *config.Loader) *cobra.Command {
	var asJSON, offline bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that the bot needs, and say what to do about what is wrong",
		Long: "Check everything that the bot needs: the configuration, files and their permissions, the store and how safe it is,\n" +
			"the disk, the clock, every model with one cheap call, every channel's token, the sandbox, the page's address, and,\n" +
			"if the bot is running, whether it is ready. Each finding has its remedy. The exit code is 1 if anything fails;\n" +
			"warnings alone leave it 0. It may be called while the bot runs.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{offline: offline}
			d.examine(cmd.Context(), loader())
			return d.print(io.out, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object, for programs")
	cmd.Flags().BoolVar(&offline, "offline", false, "leave out what asks other machines: models, channels, the clock")
	return cmd
}

// status is how grave a finding is.
type status string

const (
	statusOK   status = "ok"
	statusInfo status = "info" // off on purpose, or left out
	statusWarn status = "warn"
	statusFail status = "fail"
)

// finding is one thing that doctor looked at.
type finding struct {
	Check   string `json:"check"`
	Status  status `json:"status"`
	Message string `json:"message"`
	// Remedy says what to do; empty where all is well or Message says it.
	Remedy string `json:"remedy,omitempty"`
}

func ok(format string, args ...any) finding {
	return finding{Status: statusOK, Message: fmt.Sprintf(format, args...)}
}

func info(format string, args ...any) finding {
	return finding{Status: statusInfo, Message: fmt.Sprintf(format, args...)}
}

func warn(remedy, format string, args ...any) finding {
	return finding{Status: statusWarn, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

func fail(remedy, format string, args ...any) finding {
	return finding{Status: statusFail, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// check is one of doctor's questions. Each runs beside the others and answers
// in the order of the list.
type check struct {
	name string
	do   func(ctx context.Context) []finding
}

// doctor looks at one configuration.
type doctor struct {
	offline  bool
	cfg      *config.Config
	log      *slog.Logger
	findings []finding
}

func (d *doctor) examine(ctx context.Context, loader *config.Loader) {
	cfg, err := loader.Load()
	if problems, bad := errors.AsType[*config.Error](err); bad {
		for _, p := range problems.Problems {
			d.add("config", fail("mend the line; clawbot config check tells when it is right", "%s", p))
		}
		return
	}
	if err != nil {
		d.add("config", fail("", "%v", err))
		return
	}
	d.cfg, d.log = cfg, slog.New(slog.DiscardHandler)
	d.add("config", configFindings(cfg)...)
	found := cfg.Detect(ctx)
	if found.Model == "demo/demo" {
		d.add("model", warn("", "the built-in demo model answers: %s", found.Why))
	}
	checks := d.checks()
	results := make([][]finding, len(checks))
	var group sync.WaitGroup
	for i, c := range checks {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
			defer cancel()
			results[i] = c.do(ctx)
		})
	}
	group.Wait()
	for i, c := range checks {
		d.add(c.name, results[i]...)
	}
}

// checks lists what is looked at once the configuration is understood.
func (d *doctor) checks() []check {
	list := []check{
		{"files", d.files},
		{"workspace", d.workspace},
		{"store", d.store},
		{"disk", d.disk},
		{"sandbox", d.sandbox},
		{"access", d.access},
		{"server", d.server},
	}
	if d.offline {
		return append(list, check{"network", func(context.Context) []finding {
			return []finding{info("models, channels and the clock were not looked at (--offline)")}
		}})
	}
	list = append(list, check{"clock", d.clock})
	list = append(list, d.modelChecks()...)
	return append(list, d.channelChecks()...)
}

func configFindings(cfg *config.Config) []finding {
	where := cfg.Origin.File
	if where == "" {
		where = "no file, so defaults and the environment"
	}
	list := []finding{ok("%s (clawbot %s)", where, version.Get().Version)}
	for _, w := range cfg.Origin.Warnings {
		list = append(list, warn("", "%s", w))
	}
	return list
}

// add takes findings of one check in, without the configuration's secrets.
func (d *doctor) add(name string, list ...finding) {
	hide := func(s string) string { return s }
	if d.cfg != nil {
		hide = redact.New(d.cfg.Secrets()...).String
	}
	for _, f := range list {
		f.Check, f.Message, f.Remedy = name, hide(f.Message), hide(f.Remedy)
		d.findings = append(d.findings, f)
	}
}

// report is what --json prints.
type report struct {
	OK      bool   `json:"ok"` // nothing failed
	Version string `json:"version"`
	Config  string `json:"config,omitempty"` // the file, if there is one that can be understood
	// Failures and Warnings count the findings of that status.
	Failures int       `json:"failures"`
	Warnings int       `json:"warnings"`
	Offline  bool      `json:"offline,omitempty"`
	Findings []finding `json:"findings"`
}

// print tells the findings and returns how the program ends.
func (d *doctor) print(w io.Writer, asJSON bool) error {
	failed, warned := 0, 0
	for _, f := range d.findings {
		switch f.Status {
		case statusFail:
			failed++
		case statusWarn:
			warned++
		}
	}
	var err error
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		report := report{OK: failed == 0, Version: version.Get().Version, Failures: failed, Warnings: warned, Offline: d.offline, Findings: d.findings}
		if d.cfg != nil {
			report.Config = d.cfg.Origin.File
		}
		err = enc.Encode(report)
	} else {
		err = d.printText(w, failed, warned)
	}
	if err == nil && failed > 0 {
		return &exitError{code: 1}
	}
	return err
}

func (d *doctor) printText(out io.Writer, failed, warned int) error {
	w := &writeAll{w: out}
	for _, f := range d.findings {
		w.printf("%-5s %-10s %s\n", f.Status, f.Check, strings.ReplaceAll(f.Message, "\n", "\n                 "))
		if f.Remedy != "" {
			w.printf("%17s→ %s\n", "", f.Remedy)
		}
	}
	switch {
	case failed > 0:
		w.printf("\n%s, %s\n", count(failed, "failure"), count(warned, "warning"))
	case warned > 0:
		w.printf("\nno failures, %s\n", count(warned, "warning"))
	default:
		w.printf("\nall is well\n")
	}
	return w.err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
