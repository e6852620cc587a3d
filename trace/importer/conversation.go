package importer

import (
	"crypto/sha256"
	"fmt"
	"iter"

	"github.com/looptape/looptape/llm"
)

// Conversations yields the runs of a recording of HTTP with which none of the others goes
// on: of a conversation the last request with its answer has all of it. Beside it stands
// what all its answers took, as usage in the spelling of llm. All runs of the recording are held. Those of any
// other source are its Runs.
func (s *Source) Conversations() iter.Seq2[Run, error] {
	if s.http == nil {
		return s.Runs()
	}
	return func(yield func(Run, error) bool) {
		t := talks{continued: map[string]bool{}, took: map[string]llm.Usage{}}
		for e, err := range s.Exchanges() {
			if err != nil || e.Request != nil {
				t.add(&e, err)
			}
		}
		for i := range t.list {
			x := &t.list[i]
			var run Run
			if x.err == nil {
				if t.continued[x.key()] {
					continue
				}
				run = t.whole(x)
			}
			if !yield(run, x.err) {
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

// talk is a request with its answer, or the error that stands in its place.
type talk struct {
	run  Run
	err  error
	keys []string // of its messages up to each
	took llm.Usage
}

func (t *talk) key() string { return t.keys[len(t.keys)-1] }

func (t *talks) add(e *Exchange, err error) {
	if err != nil {
		t.list = append(t.list, talk{err: err})
		return
	}
	x := talk{run: e.run(), keys: []string{""}}
	for _, m := range x.run.Messages {
		t.continued[x.key()] = true
		x.keys = append(x.keys, keyOf(x.key(), m))
	}
	if e.Answer != nil {
		x.took = e.Answer.Usage
		t.took[x.key()] = x.took
	}
	t.list = append(t.list, x)
}

// whole is a run with what its conversation took.
func (t *talks) whole(x *talk) Run {
	usage := x.took
	for _, key := range x.keys[:len(x.keys)-1] {
		usage = usage.Add(t.took[key])
	}
	if usage != (llm.Usage{}) {
		x.run.Meta["usage"] = usage.AppendJSON(nil)
	}
	return x.run
}

// keyOf is the key of messages with one more, by what it says: a client may tell an answer
// back without what the provider said beside it.
func keyOf(before string, m llm.Message) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s %q", before, m.Role, m.Text()) // which cannot fail
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llm.ToolCall:
			_, _ = fmt.Fprintf(h, " %q %q", p.Name, llm.Canonical(p.Args))
		case llm.ToolResult:
			_, _ = fmt.Fprintf(h, " %q", p.Text())
		default:
		}
	}
	return string(h.Sum(nil))
}
