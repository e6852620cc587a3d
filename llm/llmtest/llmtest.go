// Package llmtest is a contract suite for any [llm.Model]. It scripts the responses of the
// model (text, parallel calls, reasoning with opaque data, media, refusals, errors,
// stalls), sends requests as a loop does, and checks the events and what remains running.
//
// The test provides the source of the responses. For the client of a provider, this can be a
// server on pipes within the process, such as that of fake/wire. The suite skips
// properties of requests if the test does not record requests, and features that the model
// does not support. Each skip has a reason.
//
// Each case runs in a bubble of testing/synctest. Its time is virtual, so a stall takes no
// time, and a model that hangs is detected immediately. The model and its server must wait
// only on channels, contexts, timers, package sync and pipes, not on a network or a file.
package llmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/looptape/looptape/llm"
)

// Suite describes the model under test.
type Suite struct {
	// New returns a model with scripted responses by Request.Model. The suite calls it once
	// per case, in the bubble of the case. What it starts must end with the cleanup of t.
	New func(t testing.TB, responses map[string]Response) Subject
	// Unsupported contains the features that the model does not have. Their cases are
	// skipped.
	Unsupported []Feature
	// OpaqueReasoning, OpaqueText and OpaqueCall are opaque provider data, as JSON, that the
	// loop must send back on the part that had it. nil means none.
	OpaqueReasoning, OpaqueText, OpaqueCall json.RawMessage
	// Prepare, if not nil, completes each request with what the provider requires. It must
	// not change fields that are set.
	Prepare func(req *llm.Request)
}

// Response is one scripted response.
type Response struct {
	// Events are the events of a streaming response, in order. A non-streaming response has
	// the same content.
	Events []llm.Event
	// Err, if not nil, ends the response in place of the provider's end. Without Events, or
	// in a non-streaming response, the provider rejects the request with it. If Err.Err is
	// not nil, the connection is interrupted.
	Err *llm.APIError
	// Stall sends nothing after Events, not even the end.
	Stall bool
}

// Subject is a model under test.
type Subject struct {
	Model llm.Model
	// Requests returns the requests that the provider received, in order; nil means that
	// the test does not record them.
	Requests func() []*llm.Request
	// CloseIdle releases what the model keeps between two responses, such as idle
	// connections; nil means nothing.
	CloseIdle func()
}

// Feature is a feature that not every model supports.
type Feature string

// The features of responses, and then those of requests.
const (
	Reasoning       Feature = "reasoning"
	Refusals        Feature = "refusals"
	ResponseMedia   Feature = "media in responses"
	ContentFilters  Feature = "content filters" // as a finish reason
	CachedUsage     Feature = "cache-read tokens"
	CacheWriteUsage Feature = "cache-creation tokens"
	ReasoningUsage  Feature = "reasoning tokens"
	Stalls          Feature = "stalls" // a response that does not end

	Seed            Feature = "a seed"
	StopSequences   Feature = "stop sequences"
	SingleCalls     Feature = "one call per response" // Settings.ParallelToolCalls: false
	ReasoningEffort Feature = "reasoning effort"      // Settings.ReasoningEffort: low
	Files           Feature = "files"                 // a PDF in a user message
	FileNames       Feature = "file names"
	ErrorResults    Feature = "results that are errors"
	ImageResults    Feature = "images in results"
	CacheMarks      Feature = "cache marks" // in the system prompt
)

func features() []Feature {
	return []Feature{
		Reasoning, Refusals, ResponseMedia, ContentFilters, CachedUsage, CacheWriteUsage, ReasoningUsage, Stalls,
		Seed, StopSequences, SingleCalls, ReasoningEffort, Files, FileNames, ErrorResults, ImageResults, CacheMarks,
	}
}

// Violation is a property that the model does not satisfy.
type Violation struct {
	Property Property
	Case     string
	Message  string
	Hint     string // the likely cause and a fix
}

// String returns the property, the case and the message.
func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Property, v.Case, v.Message) }

// Check runs all cases as subtests. The name of a subtest begins with its property; to run
// the cases of one property: go test -run 'TestName/cancel'. Check fails t for each
// violation and prints its likely cause. Some properties have no case: the suite checks
// them in every response.
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

// Violations runs all cases and returns the first violation of each case, in order. It does
// not fail t.
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

// known fails t if Unsupported contains an unknown feature.
func (s *Suite) known(t *testing.T) {
	t.Helper()
	for _, f := range s.Unsupported {
		if !slices.Contains(features(), f) {
			t.Fatalf("llmtest: unknown feature %q: use a constant of type Feature", f)
		}
	}
}
