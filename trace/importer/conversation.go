package importer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/looptape/looptape/llm"
)

// Conversations yields the runs of a recording of HTTP with which none of the others goes
// on: of a conversation the last request with its answer has all of it. Beside it stands
// what all its answers took, as usage in the spelling of llm. All runs of the recording are
// held; that there is none is an error. The conversations of any other source are its Runs.
func (s *Source) Conversations() iter.Seq2[Run, error] {
	if s.http == nil {
		return s.Runs()
	}
	return func(yield func(Run, error) bool) {
		t := talks{continued: map[string]bool{}, took: map[string]llm.Usage{}}
		for e, err := range s.Exchanges() {
			switch {
			case err != nil:
				t.list = append(t.list, talk{err: err})
			case e.Request != nil:
				t.add(&e, s.name)
			}
		}
		if len(t.list) == 0 {
			yield(Run{}, &Error{File: s.name, Err: errors.New("no request in it is one to a model, in a protocol that is known")})
		}
		for i := range t.list {
			x := &t.list[i]
			if len(x.keys) > 0 && t.continued[x.key()] {
				continue
			}
			if x.err == nil {
				t.count(x)
			}
			if !yield(x.run, x.err) {
				return
			}
		}
	}
}

// talks are the requests of a recording, by what was said.
type talks struct {
	list []talk
	// continued are the keys of what another request goes on from.
	continued map[string]bool
	// took is what the answer took that is the last of what a key stands for.
	took map[string]llm.Usage
}

// talk is a request with its answer. Beside an error it is the request alone, or nothing if
// that cannot be read.
type talk struct {
	run  Run
	err  error
	keys []string // of its messages up to each; none of nothing
	took llm.Usage
}

func (t *talk) key() string { return t.keys[len(t.keys)-1] }

func (t *talks) add(e *Exchange, file string) {
	x := talk{run: e.run(), keys: []string{""}}
	if e.Incomplete != nil {
		x.run.Partial = true
		x.err = &Error{File: file, Line: e.Line, Path: "interaction " + strconv.Itoa(e.Number), Err: fmt.Errorf("its answer cannot be read to its end: %w", e.Incomplete)}
	}
	for _, m := range x.run.Messages {
		t.continued[x.key()] = true
		x.keys = append(x.keys, keyOf(x.key(), m))
	}
	if e.Response != nil {
		x.took = e.Response.Usage
		t.took[x.key()] = x.took
	}
	t.list = append(t.list, x)
}

// count puts what a conversation took beside its run.
func (t *talks) count(x *talk) {
	usage := x.took
	for _, key := range x.keys[:len(x.keys)-1] {
		usage = usage.Add(t.took[key])
	}
	if usage != (llm.Usage{}) {
		x.run.Meta["usage"] = usage.AppendJSON(nil)
	}
}

// keyOf is the key of messages with one more, by what it says: a client may tell an answer
// back without what the provider said beside it.
func keyOf(before string, m llm.Message) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s %q", before, m.Role, m.Text()) // which cannot fail
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llm.ToolCall:
			_, _ = fmt.Fprintf(h, " %q %q", p.Name, llm.Canonical(p.Arguments))
		case llm.ToolResult:
			_, _ = fmt.Fprintf(h, " %q", p.Text())
		default:
		}
	}
	return string(h.Sum(nil))
}
