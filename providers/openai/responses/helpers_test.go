package responses_test

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
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// stream returns the bytes of a stream of these events.
func stream(events ...string) string {
	var b []byte
	for _, e := range events {
		b = sse.Append(b, "", []byte(e))
	}
	return string(b)
}

// readStream decodes a stream as a protocol.Client does.
func readStream(from io.Reader) (*llm.Response, error) {
	var acc llm.Accumulator
	emit := func(ev llm.Event) { acc.Add(ev) }
	events := sse.NewReader(from, 32<<20)
	dec := responses.Protocol{}.NewDecoder()
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
		for i := range ev.Data {
			ev.Data[i] = 'x' // they may be used again
		}
		if err == nil && done {
			err = dec.End(emit)
		} else if err == nil {
			continue
		}
		return acc.Response(), err
	}
}

// readAnswer decodes a non-streaming response.
func readAnswer(body string) (*llm.Response, error) {
	var acc llm.Accumulator
	err := responses.Protocol{}.DecodeResponse([]byte(body), func(ev llm.Event) { acc.Add(ev) })
	return acc.Response(), err
}

// writeStream returns the bytes of the stream that these events make.
func writeStream(t testing.TB, a protocol.ResponseMeta, events ...llm.Event) string {
	t.Helper()
	var b []byte
	write := func(name string, data []byte) { b = sse.Append(b, name, data) }
	enc := responses.Protocol{}.NewEncoder(a)
	for _, ev := range events {
		if err := enc.Event(ev, write); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.End(write); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// codes returns the codes of warnings.
func codes(warnings []llm.Warning) (out string) {
	for _, w := range warnings {
		out += " " + w.Code
	}
	return strings.TrimPrefix(out, " ")
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// sharedData returns a folder of recordings, which are not part of this module.
func sharedData(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		return filepath.Join(dir, "data", name)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "shared", "data", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if filepath.Dir(dir) == dir {
			t.Skipf("the recordings are not here: there is no shared/data/%s above the package, and LOOPTAPE_SHARED is not set", name)
		}
		dir = filepath.Dir(dir)
	}
}

// said is the member of a request that has the conversation.
func said(t testing.TB, key string, messages ...llm.Message) string {
	t.Helper()
	out, err := responses.Protocol{}.EncodeRequest(&llm.Request{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(out.Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body[key])
}
