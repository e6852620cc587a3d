package cassettes_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes"
)

// childEnv makes the test binary record to this file until it is killed.
const childEnv = "LOOPTAPE_RECORD_TO"

// http2Env makes it use HTTP/2.
const http2Env = "LOOPTAPE_RECORD_HTTP2"

// kills is the number of killed recordings; the flag -kills sets it.
var kills = flag.Int("kills", 20, "how often a recording is killed")

// echo responds with the body, many times.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(bytes.Repeat(body, 50))), ContentLength: -1, Request: r}, nil
}

// overHTTP2 sends requests over HTTP/2 to a server that responds as echo does. The end of a
// body arrives after its last byte.
func overHTTP2() http.RoundTripper {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the response contains it
		w.Header().Set("Content-Length", strconv.Itoa(50*len(body)))
		_, _ = w.Write(bytes.Repeat(body, 50)) // the same
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	return s.Client().Transport // which finds it as example.com
}

// recordForEver records, and prints the number of each response that a client has received.
func recordForEver(path string, upstream http.RoundTripper) error {
	c, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record, Transport: upstream})
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		text := "number " + strconv.Itoa(n) + "\n"
		req, err := http.NewRequestWithContext(context.Background(), "POST", "https://example.com/", strings.NewReader(text))
		if err != nil {
			return err
		}
		resp, err := c.RoundTrip(req)
		if err != nil {
			return err
		}
		if resp.ContentLength < 0 {
			_, err = io.Copy(io.Discard, resp.Body)
		} else {
			_, err = io.ReadFull(resp.Body, make([]byte, resp.ContentLength))
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, n); err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil {
			return err
		}
	}
}

// A killed process loses no complete interaction.
func TestKilled(t *testing.T) {
	for i := range *kills {
		path := filepath.Join(t.TempDir(), "k.tape")
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+path)
		if i%2 == 0 {
			cmd.Env = append(cmd.Env, http2Env+"=1")
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		received := 0
		lines := bufio.NewScanner(out)
		for received < i%7 && lines.Scan() {
			received++
		}
		for range i * 7919 % 100000 { // another moment each time
			_ = i
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // its output before it was killed
			received++
		}
		_ = cmd.Wait() // it was killed
		if received == 0 {
			continue
		}
		c, err := cassettes.Open(path, &cassettes.Options{AllowUnused: true})
		if err != nil {
			t.Fatalf("killed after %d responses: %v", received, err)
		}
		for n := 1; n <= received; n++ {
			want := fmt.Sprintf("number %d\n", n)
			if got := send(t, c, "POST", "https://example.com/", want).text; got != strings.Repeat(want, 50) {
				t.Fatalf("killed after %d responses: number %d is %q", received, n, got)
			}
		}
	}
}
