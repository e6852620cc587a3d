package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/llm/llmtest"
)

// other is a model that is not ours: small, and with one fault if it has a name.
type other struct {
	fault  string
	script map[string]llmtest.Response

	mu    sync.Mutex
	asked []*llm.Request
	times map[asking]int                    // with the fault "counts"
	kept  map[*llm.Request]llmtest.Response // with the fault "keeps"
	rest  []llm.Event                       // with the fault "rest"
	last  string                            // with the fault "mixes"
}

// asking is a request, distinguished from others with the same content.
type asking struct {
	req   *llm.Request
	model string
}

func newOther(fault string, s map[string]llmtest.Response) *other {
	return &other{fault: fault, script: s, times: map[asking]int{}, kept: map[*llm.Request]llmtest.Response{}}
}

// suite is a suite for other.
func suite(fault string) llmtest.Suite {
	return llmtest.Suite{
		New: func(_ testing.TB, s map[string]llmtest.Response) llmtest.Subject {
			m := newOther(fault, s)
			return llmtest.Subject{Model: m, Requests: m.seen}
		},
		OpaqueReasoning: []byte(`{"signature":"c2lnbmVk"}`), OpaqueText: []byte(`{"id":"msg_1"}`), OpaqueCall: []byte(`{"id":"fc_1"}`),
	}
}

func (m *other) seen() []*llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

func (m *other) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if m.fault == "asks at once" && req != nil {
		m.note(req)
	}
	return func(yield func(llm.Event, error) bool) {
		if err := m.refuses(req); err != nil {
			yield(nil, err)
			return
		}
		if m.fault != "asks at once" {
			m.note(req)
		}
		a := m.find(req)
		if m.fault == "watcher" && req.System != nil { // in one case, or the many slow the tests down
			go watch(ctx)
		}
		c := &call{other: m, ctx: ctx, req: req, answer: a, yield: yield}
		c.play()
	}
}

// watch is a goroutine that nothing can end.
func watch(context.Context) { <-make(chan int) }

// refuses is the error of a request that cannot be asked.
func (m *other) refuses(req *llm.Request) error {
	switch {
	case m.fault == "panics":
		_ = req.Messages[0].Parts[0]
	case req == nil:
		return errors.New("there is no request")
	case m.fault == "needs a bound" && req.Settings.MaxTokens == 0:
		return errors.New("there is no bound of the tokens")
	}
	if _, ok := m.script[req.Model]; !ok {
		return fmt.Errorf("unknown model %q", req.Model)
	}
	return nil
}

// note keeps what was asked, and spoils it.
func (m *other) note(req *llm.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := *req
	seen.Messages, seen.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	switch m.fault {
	case "no tools":
		seen.Tools = nil
	case "no system":
		seen.System = nil
	case "no marks":
		seen.System = llm.SystemText(seen.System.Text())
	case "no temperature":
		if t := seen.Settings.Temperature; t != nil && *t == 0 {
			seen.Settings.Temperature = nil
		}
	case "unsigned", "reordered":
		for i, msg := range seen.Messages {
			seen.Messages[i].Parts = spoil(m.fault, msg.Parts)
		}
	case "changes":
		req.Model += " "
		req.Model = req.Model[:len(req.Model)-1]
		req.Settings.MaxTokens = 1
	case "appends":
		_ = append(req.Messages, llm.User("be brief"))
	case "appends a tool":
		_ = append(req.Tools, llm.Tool{Name: "mine"})
	}
	m.asked = append(m.asked, &seen)
}

func spoil(fault string, parts []llm.Part) []llm.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Reasoning:
			if fault == "unsigned" {
				parts[i] = llm.Reasoning{Text: p.Text}
			}
		case llm.ToolResult:
			if fault == "reordered" && i == 1 {
				parts[0], parts[1] = parts[1], parts[0]
			}
		}
	}
	return parts
}

// find returns the response to a request.
func (m *other) find(req *llm.Request) llmtest.Response {
	m.mu.Lock()
	m.last = req.Model
	m.times[asking{req, req.Model}]++
	again := m.times[asking{req, req.Model}] > 1
	m.mu.Unlock()
	if m.fault == "mixes" {
		time.Sleep(time.Millisecond) //nolint:forbidigo // virtual: it is a bubble's
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.script[req.Model]
	switch m.fault {
	case "mixes":
		a = m.script[m.last]
	case "counts":
		if again {
			a.Events = slices.Insert(slices.Clone(a.Events), 0, llm.Event(llm.TextDelta{Text: "Again: "}))
		}
	case "keeps":
		if _, ok := m.kept[req]; !ok {
			m.kept[req] = a
		}
		a = m.kept[req]
	}
	return a
}

// call is one response of it.
type call struct {
	*other
	ctx    context.Context
	req    *llm.Request
	answer llmtest.Response
	yield  func(llm.Event, error) bool
}

func (c *call) play() {
	if c.ctx.Err() != nil && c.fault != "starts on" {
		c.fail(c.ctx.Err())
		return
	}
	events, err := c.answer.Events, error(nil)
	if c.answer.Err != nil {
		err = c.answer.Err
	}
	buffered := c.req.ResponseMode == llm.NonStreaming
	if buffered {
		events = whole(events)
		if err != nil {
			events = nil
		}
	}
	events = c.garble(events, buffered)
	for _, ev := range events {
		if c.ctx.Err() != nil && c.fault != "starts on" {
			c.fail(c.ctx.Err())
			return
		}
		if !c.yield(ev, nil) {
			c.leave(events)
			return
		}
	}
	switch {
	case c.answer.Stall:
		c.stall()
	case err != nil:
		c.fail(err)
	}
}

// leave is what happens when the range is left.
func (c *call) leave(events []llm.Event) {
	switch c.fault {
	case "goes on":
		c.yield(events[0], nil)
	case "rest":
		c.mu.Lock()
		c.rest = events[:1]
		c.mu.Unlock()
	case "lost on leave":
		go watch(c.ctx)
	}
}

func (c *call) stall() {
	if c.fault == "deaf" {
		<-make(chan int)
	}
	<-c.ctx.Done()
	c.fail(c.ctx.Err())
}

// fail ends the response with an error.
func (c *call) fail(err error) {
	var e *llm.APIError
	if errors.As(err, &e) {
		err = c.garbleError(*e)
	} else {
		switch {
		case c.fault == "hides the context":
			err = errors.New("the connection was closed")
		case c.fault == "ends quietly":
			return
		case c.fault == "hides the deadline" && errors.Is(err, context.DeadlineExceeded):
			err = context.Canceled
		}
	}
	if c.fault == "beside an event" {
		c.yield(llm.TextDelta{Text: "x"}, err)
		return
	}
	c.yield(nil, err)
	if c.fault == "error twice" {
		c.yield(nil, err)
	}
}

func (c *call) garbleError(e llm.APIError) error {
	switch c.fault {
	case "no status":
		e.Status = 0
	case "never again":
		e.Retryable = false
	case "no wait":
		e.RetryAfter = 0
	case "no message":
		e.Message = ""
	case "plain error":
		return errors.New(e.Error())
	}
	return &e
}

// garble changes the text.
func (c *call) garble(events []llm.Event, buffered bool) []llm.Event {
	events = slices.Clone(events)
	c.mu.Lock()
	events = append(c.rest, events...)
	c.rest = nil
	c.mu.Unlock()
	isFinish := func(ev llm.Event) bool { _, ok := ev.(llm.Finish); return ok }
	switch finish := slices.IndexFunc(events, isFinish); {
	case c.fault == "speaks first" && len(events) == 0 && c.answer.Err != nil:
		events = append(events, llm.TextDelta{Text: "Sorry."})
	case c.fault == "nil event" && len(events) > 0:
		events = append(events, nil)
	case finish < 0:
	case c.fault == "no finish":
		events = slices.Delete(events, finish, finish+1)
	case c.fault == "two finishes":
		events = append(events, events[finish])
	case c.fault == "speaks on":
		events[finish], events[0] = events[0], events[finish]
	case c.fault == "no end" && !buffered:
		events = slices.DeleteFunc(events, func(ev llm.Event) bool { _, ok := ev.(llm.ToolCallEnd); return ok })
	case c.fault == "ends twice":
		if i := slices.IndexFunc(events, func(ev llm.Event) bool { _, ok := ev.(llm.ToolCallEnd); return ok }); i >= 0 {
			events = slices.Insert(events, i, events[i])
		}
	case c.fault == "late start":
		if i := slices.IndexFunc(events, func(ev llm.Event) bool { _, ok := ev.(llm.ToolCallStart); return ok }); i >= 0 {
			events[i], events[i+1] = events[i+1], events[i]
		}
	case c.fault == "buffered space" && buffered:
		events = slices.Insert(events, 0, llm.Event(llm.TextDelta{Text: " "}))
	}
	for i, ev := range events {
		events[i] = c.garbleEvent(ev)
	}
	if c.fault == "lone letters" {
		events = slices.DeleteFunc(events, func(ev llm.Event) bool { t, ok := ev.(llm.TextDelta); return ok && t.Text == "ü" })
	}
	return events
}

func (c *call) garbleEvent(ev llm.Event) llm.Event {
	switch ev := ev.(type) {
	case llm.TextDelta:
		if c.fault == "plain text" {
			ev.Text = strings.ReplaceAll(ev.Text, "&", "and")
		}
		if c.fault == "no private data" {
			ev.Opaque = nil
		}
		if c.fault == "item ids" && ev.Opaque != nil { // which is not a fault
			ev.Opaque = append([]byte(`{"item":"1",`), ev.Opaque[1:]...)
		}
		return ev
	case llm.PartDone:
		if t, ok := ev.Part.(llm.Text); ok && c.fault == "plain text" {
			t.Text = strings.ReplaceAll(t.Text, "&", "and")
			ev.Part = t
		}
		return ev
	case llm.Usage:
		if c.fault == "no cached tokens" {
			ev.CacheReadInputTokens = 0
		}
		return ev
	}
	return ev
}

// whole returns the events of a non-streaming response.
func whole(events []llm.Event) (out []llm.Event) {
	turn, _ := llm.Collect(func(yield func(llm.Event, error) bool) {
		for _, ev := range events {
			yield(ev, nil)
		}
	})
	for _, p := range turn.Parts {
		out = append(out, llm.PartDone{Part: p})
	}
	for _, ev := range events {
		switch ev.(type) {
		case llm.Usage, llm.Finish:
			out = append(out, ev)
		}
	}
	return out
}
