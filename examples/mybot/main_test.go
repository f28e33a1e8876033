package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMyBotAnswersOnItsPortThroughItsTool(t *testing.T) {
	defer goleak.VerifyNone(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, filepath.Join(t.TempDir(), "mybot.db")) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, "time in Lima")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || line != "In Lima it is tea time.\n" {
		t.Errorf("the answer: %q, %v", line, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
