package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"clawbot/config"
)

// healthTimeout is less than what container runtimes allow.
const healthTimeout = 4 * time.Second

func newHealthcheck(loader func() *config.Loader) *cobra.Command {
	return &cobra.Command{
		Use:    "healthcheck",
		Short:  "Ask the running bot whether it is alive",
		Long:   "Ask /healthz of the bot that runs with the same configuration; the exit code is the answer. For containers.",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loader().Load()
			if err != nil {
				return err
			}
			return healthy(cmd.Context(), cfg.Server.Listen)
		},
	}
}

// healthy asks whoever listens there, as far as this machine can reach it.
func healthy(ctx context.Context, listen string) error {
	address, err := reachable(listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("server.listen: %w", err)
	}
	// The environment's proxy is not for this machine's own address.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no bot answers on %s: %w; is `clawbot run` running with this configuration?", address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers /healthz with %s: is another program listening there?", address, resp.Status)
	}
	return nil
}

// reachable is where a program on this machine finds a listener.
func reachable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("server.listen: %w", err)
	}
	if port == "0" {
		return "", fmt.Errorf("server.listen: the port of %s is known to the running bot only; set a number", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}
