package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// The package net/http logs bytes that a server sends without a request. A command does not print them, since
// they may be secret or a command for a CI system.
func TestUnrequestedBytesAreNotPrinted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sender")
	}
	var logged bytes.Buffer
	was := log.Writer()
	log.SetOutput(&logged)
	defer log.SetOutput(was)
	closed := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			closed <- err
			return
		}
		go func(conn net.Conn) {
			_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}##[error]evil"))
			if err == nil {
				_, err = io.Copy(io.Discard, conn) // until the client, which has read the rest, closes it
			}
			_ = conn.Close() // nothing follows
			closed <- err
		}(conn)
	}))
	defer server.Close()
	w, out, errs := clitest.Terminal(nil)
	if got := execute([]string{"record", "-o", filepath.Join(t.TempDir(), "x.tape"), "--upstream", "openai=" + server.URL, "--", "sender", "/x", "m"}, w); got != cli.OK {
		t.Errorf("exit status %d: %s", got, errs)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if text := out.String() + errs.String() + logged.String(); bytes.Contains([]byte(text), []byte("evil")) {
		t.Errorf("the output is %s", text)
	}
}
