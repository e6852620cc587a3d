package format

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/body"
)

// SniffStream recognizes streaming responses: server-sent events, or the data of events as lines or as
// an array.
func SniffStream(h *Head) (Layout, bool) {
	if h.First != nil {
		return runsInArray, h.Has(body.EventMembers...) && body.IsEvent(h.First)
	}
	long := h.Has("response") && h.Contains(`"response.created"`) || h.Has("choices") && h.Contains(`"chat.completion.chunk"`)
	return runsInArray, long || isEvents(strings.TrimLeft(jsonio.View(h.Bytes), " \t\r\n"))
}

// isEvents reports whether a text begins as server-sent events do.
func isEvents(text string) bool {
	return slices.ContainsFunc([]string{"data:", "event:", ": ", "id:", "retry:"}, func(field string) bool {
		return strings.HasPrefix(text, field)
	})
}

// Streams reads the events of streaming responses. Each response is a run.
type Streams struct {
	n       int // runs so far
	run     Run
	events  *body.Events // of the run; nil if there is none
	invalid bool         // an event of the run cannot be read
}

// Read implements Records.
func (s *Streams) Read(raw json.RawMessage, line int) func() []Run {
	return func() (ended []Run) {
		if body.IsWhole(raw) {
			return append(s.end(), s.body(raw, line))
		}
		ended = s.next(raw, line)
		s.events.AddData(raw)
		return ended
	}
}

// ReadEvents reads server-sent events; see [body.ReadEvents]. It calls give with each run that has ended.
func (s *Streams) ReadEvents(r io.Reader, line int, give func([]Run) bool) error {
	return body.ReadEvents(r, line, func(name string, data []byte, line int) bool {
		ended := s.next(data, line)
		s.events.AddEvent(name, data)
		return ended == nil || give(ended)
	})
}

// Skip implements Records.
func (s *Streams) Skip() { s.invalid = true }

// Runs implements Records.
func (s *Streams) Runs() []Run {
	if s.n == 0 {
		s.begin(1)
	}
	return s.end()
}

// next begins a run if an event with this data does.
func (s *Streams) next(data json.RawMessage, line int) (ended []Run) {
	if s.events != nil && s.events.Precede(data) {
		ended = s.end()
	}
	if s.events == nil {
		s.begin(line)
	}
	return ended
}

func (s *Streams) begin(line int) {
	s.n++
	s.run, s.events = Run{Name: "run-" + strconv.Itoa(s.n), Line: line, Epoch: NoEpoch}, new(body.Events)
}

func (s *Streams) end() []Run {
	if s.events == nil {
		return nil
	}
	run, text := s.run, s.events.Text()
	response, err := body.Stream(text)
	if response != nil {
		run.setResponse(response, text)
		if other := body.Other(text); other != nil {
			run.Meta["response"] = other
		}
	}
	if s.events.Merged {
		run.ReportUnknown("", "the stream has content after a finish reason, and no responseId: it may be of another response")
	}
	if run.Failed = err; err == nil && s.invalid {
		run.Failed = errors.New("an event of the response cannot be read")
	}
	s.events, s.invalid = nil, false
	return []Run{run}
}

// body reads a whole request or response among the events.
func (s *Streams) body(raw json.RawMessage, line int) Run {
	s.begin(line)
	s.events = nil
	run := s.run
	d := jsonio.NewDec(jsonio.View(raw))
	if Bodies(&d, &run); d.Err() != nil {
		run.Failed = d.Err()
	}
	return run
}
