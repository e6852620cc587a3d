// Package llmtest holds an llm.Model against what package llm says of it: any
// model, whoever wrote it. It scripts what is behind the model (texts, calls in
// parallel, reasoning with private data, media, refusals, errors, stalls), asks in
// all ways in which a loop may ask, and watches what comes and what is left behind.
//
// What is behind the model is made by the test: for a client of a provider a server
// on pipes within the process (fake/wire has one), for a model that runs elsewhere
// whatever can be told what to say. Laws that need to see what the model asked are
// skipped where the test cannot show it, and so are things that the model cannot
// say; each skip tells why.
//
// Each case runs in a bubble of testing/synctest: time is virtual, so a stall costs
// nothing, and a model that hangs is found without waiting for it. For that the
// model and what is behind it must wait on channels, contexts, timers, sync and
// pipes only, not on a network or a file.
package llmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/looptape/looptape/llm"
)

// Suite is what is tested, and what is known of it.
type Suite struct {
	// New returns a model that answers by script. It is called once a case, in the
	// case's bubble; what it starts has to end with the cleanup of t.
	New func(t testing.TB, script Script) Subject
	// Lacks are what the model cannot say. The cases that are about it are skipped.
	Unsupported []Feature
	// Private is what the model's provider wants back with the parts of an answer.
	Private Private
	// Prepare, if set, completes each request before it is asked, with what the
	// provider needs beside what the case is about. It must leave what is set.
	Prepare func(req *llm.Request)
}

// Script says what is answered to a request, by Request.Model.
type Script map[string]Response

// Answer is one answer.
type Response struct {
	// Events are what is said, in the order in which it is streamed. A buffered
	// answer says it in one piece.
	Events []llm.Event
	// Err, if set, ends the answer in place of what the provider says at its end.
	// Without Events the request is refused with it, and so it is if the delivery
	// is buffered. If Err.Err is set, the connection breaks.
	Err *llm.APIError
	// Stall says that nothing comes behind Events, not even the end.
	Stall bool
}

// Subject is a model under test with what is behind it.
type Subject struct {
	Model llm.Model
	// Asked returns the requests as they came to the other side, in order; nil if
	// the other side cannot be seen.
	Requests func() []*llm.Request
	// Release lets go what the model keeps between two answers, such as idle
	// connections; nil if it keeps nothing.
	CloseIdle func()
}

// Private is data that only the provider understands, as JSON, and that has to come
// back on the part it came on. nil is none.
type Private struct{ Reasoning, Text, Call json.RawMessage }

// Feature is something that not every model can say.
type Feature string

// The features of answers.
const (
	Reasoning       Feature = "reasoning"
	Refusals        Feature = "refusals"
	ResponseMedia   Feature = "media in answers"
	ContentFilters  Feature = "content filters" // as a finish reason
	CachedUsage     Feature = "cached tokens"
	CacheWriteUsage Feature = "tokens written to a cache"
	ReasoningUsage  Feature = "reasoning tokens"
	Stalls          Feature = "stalls" // an answer that does not end
)

// The features of requests.
const (
	Seed          Feature = "a seed"
	StopSequences Feature = "stop sequences"
	SingleCalls   Feature = "one call at a time" // Settings.ParallelToolCalls: false
	ReasoningEffort        Feature = "how hard to think"  // Settings.ReasoningEffort: low
	Files         Feature = "files"              // a PDF in a message of the user
	FileNames     Feature = "names of files"
	ErrorResults  Feature = "results that are errors"
	ImageResults  Feature = "images in results"
)

func features() []Feature {
	return []Feature{
		Reasoning, Refusals, ResponseMedia, ContentFilters, CachedUsage, CacheWriteUsage, ReasoningUsage, Stalls,
		Seed, StopSequences, SingleCalls, ReasoningEffort, Files, FileNames, ErrorResults, ImageResults,
	}
}

// Violation is a law that does not hold.
type Violation struct {
	Property Property
	Case     string
	Message  string
	Hint     string // what usually breaks it, and what to do
}

// String is the law, the case and what is wrong.
func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Property, v.Case, v.Message) }

// Check runs all cases, each as a subtest that begins with the law which it is
// about, and fails for each law that does not hold, with what usually breaks it. To
// run those of one law alone: go test -run 'TestName/cancel'. Some laws have no case of
// their own: every answer is held against them.
func Check(t *testing.T, s Suite) {
	t.Helper()
	s.known(t)
	for _, c := range cases(&s) {
		t.Run(string(c.property)+"/"+c.name, func(t *testing.T) {
			v, skip := c.run(t, &s)
			if skip != "" {
				t.Skip(skip)
			}
			if v != nil {
				t.Errorf("%s: %s\n%s", v.Property, v.Message, v.Hint)
			}
		})
	}
}

// Violations runs all cases and returns what does not hold, in their order, the first
// that each case found. It does not fail t.
func Violations(t *testing.T, s Suite) []Violation {
	t.Helper()
	s.known(t)
	var found []Violation
	for _, c := range cases(&s) {
		if v, _ := c.run(t, &s); v != nil {
			found = append(found, *v)
		}
	}
	return found
}

// known fails t for a feature that there is not, which would skip nothing.
func (s *Suite) known(t *testing.T) {
	t.Helper()
	for _, f := range s.Unsupported {
		if !slices.Contains(features(), f) {
			t.Fatalf("llmtest: there is no feature %q; see the constants", f)
		}
	}
}
