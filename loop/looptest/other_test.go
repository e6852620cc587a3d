package looptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/looptest"
)

// other is a loop that is not ours: small, three tools at a time, and with one
// fault if it has a name.
type other struct {
	fault  string
	minted int                      // in all runs, with the fault "counter"
	cache  map[string][]llm.Message // with the fault "cache"

	// With the fault "waits outside", the loop ends the real time of its case, and then waits.
	expired chan time.Time
	outside chan struct{}
}

// conversation is a run of it.
type conversation struct {
	*other
	in      *looptest.Input
	ctx     context.Context
	history []llm.Message
	used    map[string]bool
	minted  int
	usage   llm.Usage
	scratch []llm.Message
}

func (o *other) Run(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	c := &conversation{other: o, in: in, ctx: ctx, used: map[string]bool{}}
	c.history = slices.Clone(in.Messages)
	switch o.fault {
	case "array":
		c.history = in.Messages
	case "cache":
		key := string(history(in.Messages))
		if o.cache == nil {
			o.cache = map[string][]llm.Message{}
		}
		if o.cache[key] == nil {
			o.cache[key] = in.Messages
		}
		c.history = slices.Clone(o.cache[key])
	case "watcher": // in one case, or the many slow the tests down
		if in.ResponseMode == llm.NonStreaming {
			go watch()
		}
	case "stuck":
		if in.ResponseMode == llm.NonStreaming {
			watch()
		}
	case "panics":
		panic("boom")
	case "exits":
		runtime.Goexit()
	case "fails":
		return nil, errors.New("no model")
	case "no call":
		return &looptest.Result{}, nil
	case "sleeps":
		time.Sleep(5 * time.Hour) //nolint:forbidigo // virtual: it is a bubble's
	case "waits outside":
		o.expired <- time.Time{}
		waitOutside(o.outside)
	}
	pending, err := c.steps()
	out := &looptest.Result{Messages: c.history[len(in.Messages):], Usage: &c.usage, Pending: pending}
	if o.fault == "no wait" && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out, err
}

// waitOutside waits for a channel that is older than the run.
func waitOutside(c chan struct{}) { <-c }

// watch is a goroutine that nothing can end.
func watch() { <-make(chan int) }

func history(messages []llm.Message) []byte {
	var out []byte
	for _, m := range messages {
		out = m.AppendJSON(out)
	}
	return out
}

func (c *conversation) steps() (pending []string, err error) {
	for n := 0; ; n++ {
		if c.ctx.Err() != nil && c.fault != "asks on" && c.fault != "asks always" {
			return nil, c.ctx.Err()
		}
		turn, err := c.ask()
		switch {
		case c.fault == "asks always":
			continue
		case err != nil:
			return nil, err
		case c.fault == "one call":
			return nil, nil
		}
		begun := len(c.history)
		calls := c.take(turn)
		goOn := len(calls) > 0
		switch {
		case c.fault == "finish stop" && turn.FinishReason == llm.FinishStop:
			for _, call := range calls {
				pending = append(pending, call.ID)
			}
			return pending, nil
		case c.fault == "finish calls" && turn.FinishReason == llm.FinishToolCalls:
			goOn = true
		}
		if !goOn {
			return nil, nil
		}
		if len(calls) > 0 {
			if err := c.answer(calls); err != nil {
				return nil, err
			}
		}
		c.handOut(c.history[begun:])
	}
}

func (c *conversation) handOut(step []llm.Message) {
	if c.fault == "scratch" {
		c.scratch = append(c.scratch[:0], step...)
		step = c.scratch
	}
	c.in.Step(step)
}

func (c *conversation) ask() (*llm.Response, error) {
	ctx, req := c.ctx, &llm.Request{Messages: slices.Clone(c.history), ResponseMode: c.in.ResponseMode}
	switch {
	case c.fault == "deaf model":
		ctx = context.WithoutCancel(ctx)
	case c.fault == "trims" && len(c.history) > 4:
		req.Messages = req.Messages[1:]
	}
	turn, err := llm.Collect(c.in.Model.Stream(ctx, req))
	if c.fault == "request" {
		req.Messages[0] = llm.User("used")
	}
	c.usage = c.usage.Add(turn.Usage)
	if c.fault == "last usage" {
		c.usage = turn.Usage
	}
	return turn, err
}

// take appends a response to the history and returns its calls.
func (c *conversation) take(turn *llm.Response) []llm.ToolCall {
	m := turn.Message()
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			for c.fault != "ids" && (p.ID == "" || c.used[p.ID]) {
				p.ID = c.mint()
			}
			c.used[p.ID] = true
			m.Parts[i] = p
		case llm.Reasoning:
			if c.fault == "unsigned" {
				m.Parts[i] = llm.Reasoning{Text: p.Text}
			}
		case llm.Text:
			if c.fault == "buffered" && c.in.ResponseMode == llm.NonStreaming {
				m.Parts[i] = llm.Text{Text: p.Text + " "}
			}
		}
	}
	if c.fault == "mute" && len(m.Calls()) > 0 {
		m.Parts = slices.DeleteFunc(m.Parts, func(p llm.Part) bool {
			_, isText := p.(llm.Text)
			return isText
		})
	}
	if len(m.Parts) > 0 || c.fault == "empty" {
		c.history = append(c.history, m)
	}
	return m.Calls()
}

func (c *conversation) mint() string {
	c.minted++
	if c.fault == "counter" {
		c.other.minted++
		return fmt.Sprintf("minted_%d", c.other.minted)
	}
	return fmt.Sprintf("minted_%d", c.minted)
}

// answer runs the calls and appends their results to the history.
func (c *conversation) answer(calls []llm.ToolCall) error {
	results, order := c.runAll(calls)
	if c.fault == "no wait" && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	var list []llm.ToolResult
	for _, i := range order {
		list = append(list, results[i])
	}
	fault := c.fault
	if c.ctx.Err() != nil {
		fault = ""
	}
	switch fault {
	case "drops":
		list = list[:max(1, len(list)-1)]
	case "mixes":
		if len(list) > 1 {
			list[0].Content, list[1].Content = list[1].Content, list[0].Content
		}
	case "reminds":
		c.history = append(c.history, llm.User("hurry"))
	case "escapes":
		for _, r := range list {
			if r.IsError {
				return errors.New(r.Text())
			}
		}
	}
	c.history = append(c.history, llm.ToolResults(list...))
	return nil
}

// runAll runs calls, three concurrently, and returns their results and their
// order.
func (c *conversation) runAll(calls []llm.ToolCall) ([]llm.ToolResult, []int) {
	var order []int
	results := make([]llm.ToolResult, len(calls))
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan bool, 3)
	for i, call := range calls {
		slots <- true
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, ok := c.run(call)
			mu.Lock()
			results[i] = r
			if ok {
				order = append(order, i)
			}
			mu.Unlock()
			<-slots
		}()
	}
	if c.fault == "no wait" {
		done := make(chan bool)
		go func() { wg.Wait(); close(done) }()
		select {
		case <-done:
		case <-c.ctx.Done():
			return nil, nil
		}
	}
	wg.Wait()
	if c.fault != "finished" {
		slices.Sort(order)
	}
	return results, order
}

// run runs a call; ok is false if it gets no result.
func (c *conversation) run(call llm.ToolCall) (r llm.ToolResult, ok bool) {
	ok = true
	fail := func(err any) {
		r = llm.ToolResult{ID: call.ID, Name: call.Name, Content: []llm.Part{llm.Text{Text: fmt.Sprint(err)}}, IsError: c.fault != "unmarked"}
	}
	defer func() {
		if v := recover(); v != nil {
			fail(v)
		}
	}()
	ctx, args := c.ctx, call.Arguments
	if ctx.Err() != nil && c.fault != "starts on" {
		fail("not run")
		return r, c.fault != "unanswered"
	}
	i := slices.IndexFunc(c.in.Tools, func(t looptest.Tool) bool { return t.Name == call.Name })
	if i < 0 && c.fault == "guesses" {
		i = 0
	}
	valid := json.Valid([]byte(args))
	switch {
	case c.fault == "deaf tool":
		ctx = context.WithoutCancel(ctx)
	case c.fault == "encodes" && valid:
		args = encodedAgain(args)
	case c.fault == "{} instead" && !valid:
		args, valid = "{}", true
	}
	if i < 0 || !valid {
		fail("cannot be run: " + args)
		return r, true
	}
	text, err := c.in.Tools[i].Run(ctx, args)
	if c.fault == "twice" && ctx.Err() == nil {
		text, err = c.in.Tools[i].Run(ctx, args)
	}
	if err != nil {
		fail(err)
		return r, true
	}
	return llm.ToolResult{ID: call.ID, Name: call.Name, Content: []llm.Part{llm.Text{Text: text}}}, true
}

func encodedAgain(args string) string {
	var v any
	if err := json.Unmarshal([]byte(args), &v); err != nil {
		panic(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
