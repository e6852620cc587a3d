package gemini_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/protocol"
)

var codec gemini.GenerateContent

// stream reads a body of server-sent events as the client does.
func stream(from io.Reader) (*llm.Response, []llm.Event, error) {
	var acc llm.Accumulator
	var all []llm.Event
	emit := func(ev llm.Event) {
		all = append(all, ev)
		acc.Add(ev)
	}
	err := read(from, emit)
	return acc.Response(), all, err
}

func read(from io.Reader, emit func(llm.Event)) error {
	r := sse.NewReader(from, protocol.DefaultMaxEvent)
	dec := codec.NewDecoder()
	for {
		ev, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			err := dec.End(emit)
			if other := bytes.TrimSpace(r.OtherLines()); err != nil && bytes.HasPrefix(other, []byte("{")) {
				return codec.DecodeError(200, nil, other)
			}
			return err
		case err != nil:
			return err
		}
		done, err := dec.Event(ev.Name, ev.Data, emit)
		if err != nil {
			return err
		}
		if done {
			return dec.End(emit)
		}
	}
}

// whole reads a non-streaming body.
func whole(body []byte) (*llm.Response, error) {
	var acc llm.Accumulator
	err := codec.DecodeResponse(body, func(ev llm.Event) { acc.Add(ev) })
	return acc.Response(), err
}

// cuts reads the body cut at each place and one byte at a time, and compares the
// responses with that of the complete body.
func cuts(t *testing.T, body string) {
	t.Helper()
	want, _, wantErr := stream(bytes.NewReader([]byte(body)))
	same := func(what string, from io.Reader) {
		t.Helper()
		got, _, err := stream(from)
		if !reflect.DeepEqual(want, got) { // cmp is slow for many events
			t.Fatalf("%s: (-whole +cut):\n%s", what, cmp.Diff(want, got))
		}
		if message(err) != message(wantErr) {
			t.Fatalf("%s: error %v, want %v", what, err, wantErr)
		}
	}
	same("byte by byte", iotest.OneByteReader(bytes.NewReader([]byte(body))))
	for i := 1; i < len(body); i++ {
		same("cut", io.MultiReader(bytes.NewReader([]byte(body[:i])), bytes.NewReader([]byte(body[i:]))))
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func apiError(t *testing.T, err error) *llm.APIError {
	t.Helper()
	e, ok := errors.AsType[*llm.APIError](err)
	if !ok {
		t.Fatalf("the error is %v (%T), not an *llm.APIError", err, err)
	}
	return e
}

// shared finds the folder of recordings.
func shared(t testing.TB, path string) string {
	t.Helper()
	dir := os.Getenv("LOOPTAPE_SHARED")
	if dir != "" {
		return filepath.Join(dir, path)
	}
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "shared", path)); err == nil {
			return filepath.Join(at, "shared", path)
		}
	}
	t.Skipf("the recordings %s are not here: no folder shared above, and LOOPTAPE_SHARED is not set", path)
	return ""
}
