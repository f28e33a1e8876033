//go:build pprof

package main

import (
	"net/http"
	_ "net/http/pprof" // built in only for measuring
	"os"
)

// A build with the tag pprof serves profiles on $CLAWBOT_PPROF.
func init() {
	if addr := os.Getenv("CLAWBOT_PPROF"); addr != "" {
		go func() { _ = http.ListenAndServe(addr, nil) }()
	}
}
