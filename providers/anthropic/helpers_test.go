package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/protocol"
)

// decode reads a stream, as protocol.Client does.
func decode(from io.Reader) (*llm.Response, error) {
	var acc llm.Accumulator
	emit := func(ev llm.Event) { acc.Add(ev) }
	events := sse.NewReader(from, 8<<20)
	dec := anthropic.Messages{}.NewDecoder()
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			err = dec.End(emit)
			return acc.Response(), err
		}
		if err != nil {
			return acc.Response(), err
		}
		done, err := dec.Event(ev.Name, ev.Data, emit)
		if err == nil && done {
			err = dec.End(emit)
		}
		if err != nil || done {
			return acc.Response(), err
		}
	}
}

// decodeBuffered reads a non-streaming response.
func decodeBuffered(body string) (*llm.Response, error) {
	var acc llm.Accumulator
	err := anthropic.Messages{}.DecodeResponse([]byte(body), func(ev llm.Event) { acc.Add(ev) })
	return acc.Response(), err
}

// stream is the server-sent events of these data, each with the name that its type
// is.
func stream(data ...string) string {
	var out []byte
	for _, d := range data {
		var ev struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(d), &ev)
		out = sse.Append(out, ev.Type, []byte(d))
	}
	return string(out)
}

// encodeStream writes events as a stream.
func encodeStream(a protocol.ResponseMeta, events []llm.Event) (string, error) {
	var out []byte
	write := func(name string, data []byte) { out = sse.Append(out, name, data) }
	enc := anthropic.Messages{}.NewEncoder(a)
	for _, ev := range events {
		if err := enc.Event(ev, write); err != nil {
			return "", err
		}
	}
	err := enc.End(write)
	return string(out), err
}

func codes(t *llm.Response) string {
	var all []string
	for _, w := range t.Warnings {
		all = append(all, w.Code)
	}
	return strings.Join(all, " ")
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func encodeRequest(t *testing.T, req *llm.Request) string {
	t.Helper()
	r, err := anthropic.Messages{}.EncodeRequest(req)
	if err != nil {
		t.Fatalf("EncodeRequest: %v", err)
	}
	return string(r.Body)
}

// shared is a directory of the recordings next to the repository.
func shared(t testing.TB, dir string) string {
	t.Helper()
	root := os.Getenv("LOOPTAPE_SHARED")
	if root == "" {
		at, err := os.Getwd()
		for err == nil && root == "" {
			if info, e := os.Stat(filepath.Join(at, "shared", "data")); e == nil && info.IsDir() {
				root = filepath.Join(at, "shared")
			}
			if at == filepath.Dir(at) {
				break
			}
			at = filepath.Dir(at)
		}
	}
	path := filepath.Join(root, "data", dir)
	if _, err := os.Stat(path); root == "" || err != nil {
		t.Skipf("no recordings: shared/data/%s is not above this package, and LOOPTAPE_SHARED does not name shared", dir)
	}
	return path
}
