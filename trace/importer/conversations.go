package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// Conversations yields the runs of a recording of HTTP that no other run continues: the last
// request of a conversation, with its response, has all messages. Meta has the usage of all
// responses of the conversation. All runs are held in memory. A recording without a request
// to a model is an error. For other formats, Conversations is the same as Runs.
func (s *Source) Conversations() iter.Seq2[Run, error] {
	if s.http == nil {
		return s.Runs()
	}
	return func(yield func(Run, error) bool) {
		t := chains{continued: map[string]bool{}, usage: map[string]llm.Usage{}, failed: map[string][][]byte{}}
		for e, err := range s.Exchanges() {
			switch {
			case err != nil:
				t.list = append(t.list, chain{err: err})
			case e.Request != nil:
				t.add(&e)
			}
		}
		if len(t.list) == 0 {
			err := errors.New("the recording has no request to a model in a known protocol")
			yield(Run{}, s.errorAt(0, "", err))
		}
		for i := range t.list {
			x := &t.list[i]
			if len(x.keys) > 0 && t.continued[x.key()] {
				continue
			}
			if x.err == nil {
				t.addUsage(x)
			}
			if !yield(x.run, x.err) {
				return
			}
		}
	}
}

// chains are the requests of a recording, by their messages.
type chains struct {
	list      []chain
	continued map[string]bool      // keys of messages that another request continues
	usage     map[string]llm.Usage // of the response that is the last message of a key, and of failed ones to it
	failed    map[string][][]byte
}

// chain is a request with its response. With an error it is the request alone, or empty if
// that cannot be read.
type chain struct {
	run    Run
	err    error
	keys   []string // of the messages up to each one, beginning with none
	usage  llm.Usage
	failed *failure
}

func (c *chain) key() string { return c.keys[len(c.keys)-1] }

func (t *chains) add(e *Exchange) {
	x := chain{run: e.run(), keys: []string{""}}
	if e.Incomplete != nil {
		x.run.Partial = true
		x.err = e.Incomplete
	}
	for _, m := range x.run.Messages {
		t.continued[x.key()] = true
		x.keys = append(x.keys, keyOf(x.key(), m))
	}
	if e.Response != nil {
		x.usage = e.Response.Usage
		t.usage[x.key()] = x.usage
	}
	if x.failed = e.failed; e.failed != nil {
		x.usage = e.failed.response.Usage
		t.usage[x.key()] = t.usage[x.key()].Add(e.failed.response.Usage)
		t.failed[x.key()] = append(t.failed[x.key()], e.failed.json())
	}
	t.list = append(t.list, x)
}

func (t *chains) addUsage(x *chain) {
	usage := x.usage
	for _, key := range x.keys[:len(x.keys)-1] {
		usage = usage.Add(t.usage[key])
	}
	if usage != (llm.Usage{}) {
		x.run.Meta["usage"] = usage.AppendJSON(nil)
	}
	var failed [][]byte
	for _, key := range x.keys[:len(x.keys)-1] {
		failed = append(failed, t.failed[key]...)
	}
	if x.failed != nil {
		failed = append(failed, x.failed.json())
	}
	if failed != nil {
		x.run.Meta["failed_responses"] = arrayOf(failed...)
	}
}

// keyOf returns the key of messages with one more. It uses texts, calls and results: a
// client may omit the provider's other data when it repeats a response.
func keyOf(before string, m llm.Message) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s %q", before, m.Role, m.Text()) // a hash returns no error
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llm.ToolCall:
			_, _ = fmt.Fprintf(h, " %q %q", p.Name, jsonval.Canonical(p.Arguments))
		case llm.ToolResult:
			_, _ = fmt.Fprintf(h, " %q", p.Text())
		default:
		}
	}
	return string(h.Sum(nil))
}

// arrayOf returns a JSON array of values.
func arrayOf(values ...[]byte) json.RawMessage {
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]"))
}
