package program

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

// modelCall is the kind of answers that a request waits for.
const modelCall = "model call"

// start is the key of a run before its first request.
const start = "start"

// run is one run of a program.
type run struct {
	*process

	c       *explore.Choices
	server  *wire.Server
	changed <-chan struct{} // has a value after a request has come
	text    []string        // what happened, in order

	// What enough depends on.
	key  string // what was delivered last, and what was open then
	base int    // open requests after that
	sent int    // responses before that, or before its first part
	// parts is the number of responses whose second part is missing, and first is true if a first part was delivered last.
	parts    int
	first    bool
	secondOf map[string]int // sent, by the name of the response

	canceled bool
	end      context.CancelCauseFunc // of the context of the run

	mu   sync.Mutex
	over bool
	open sync.WaitGroup // requests
}

// Run implements [explore.Program].
func (p *process) Run(c *explore.Choices) explore.Outcome {
	if p.Err() != nil {
		return explore.Outcome{}
	}
	r := &run{process: p, c: c, changed: p.world.BeginAnswers(false), key: start, secondOf: map[string]int{}}
	r.server = p.world.Begin()
	p.current.Store(r)
	var ctx context.Context
	ctx, r.end = context.WithCancelCause(p.ctx)
	defer r.end(nil)
	ctx, cancel := p.clock.WithTimeout(ctx, p.Timeout, timeoutError(p.Timeout))
	defer cancel()
	p.signals = make(chan syscall.Signal)
	var end ending
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end = p.execute(ctx)
	}()
	r.drive(ended)
	left := r.left()
	r.finish()
	if p.Err() != nil { // interrupted
		return explore.Outcome{}
	}
	return explore.Outcome{Digest: r.digest(&end), Violations: r.violations(&end, left), Text: func() string { return r.describe(&end) }}
}

// left returns the number of requests that are open although the run has ended. A program that was canceled has some time to end their
// connections.
func (r *run) left() (n int) {
	if r.canceled && r.Keep {
		_ = r.clock.Sleep(r.ctx, r.Settle)
	}
	for _, p := range r.world.Pending() {
		if !r.canceled || !p.Ended {
			n++
		}
	}
	return n
}

// enter counts a request, unless the run is over.
func (r *run) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.open.Add(1)
	}
	return !r.over
}

func (r *run) leave() { r.open.Done() }

// drive delivers responses in a chosen order until the program has ended the run.
func (r *run) drive(ended <-chan struct{}) {
	for !r.wait(ended) {
		pending := r.server.Pending()
		r.text = append(r.text, r.server.Arrived()...)
		if r.interrupt(before(pending[0]), pending[0].Name, pending, ended) {
			return
		}
		names := make([]string, len(pending))
		for i, p := range pending {
			names[i] = p.Name
		}
		i := 0
		if len(pending) > 1 {
			i = r.c.Order("next answer", strconv.Itoa(len(pending)), names)
		}
		p := pending[i]
		pending = slices.Delete(pending, i, i+1)
		r.deliver(p, pending)
		if !r.first && r.interrupt("after the answer", p.Name, pending, ended) {
			return
		}
	}
}

// before is the point before an answer.
func before(p *fake.Pending) string {
	if p.At != modelCall {
		return "before the second part of the answer"
	}
	return "before the answer"
}

// interrupt cancels the run, if that is chosen, and waits for its end. Each answer that the program waits for comes all the same
// or does not come. What the program does after the cancel is not a choice: it depends on real time.
func (r *run) interrupt(at, name string, pending []*fake.Pending, ended <-chan struct{}) bool {
	choose := r.c.Fault
	if r.parts > 0 { // the fault is the response that comes in two parts
		choose = r.c.Order
	}
	if r.Cancel == "" || choose(at, name, []string{"", "the run is canceled"}) == 0 {
		return false
	}
	r.canceled = true
	var late []*fake.Pending
	for _, p := range pending {
		if r.c.Order("after the cancel, the answer", p.Name, []string{"", "comes all the same"}) == 1 {
			late = append(late, p)
		}
	}
	r.text = append(r.text, fmt.Sprintf("the run is canceled (%s)", r.Cancel.describe()))
	r.process.cancel(ended)
	for _, p := range late {
		r.text = append(r.text, p.At+" "+p.Name)
		r.world.Deliver(p, 0, false)
	}
	ctx, cancel := r.clock.WithTimeout(context.Background(), r.CancelTimeout, nil)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		r.end(canceledError{r.Cancel, r.CancelTimeout})
		<-ended
	}
	return true
}

// deliver delivers a response. The others are open.
func (r *run) deliver(p *fake.Pending, others []*fake.Pending) {
	fault := 0
	if !p.Ended { // the client has not disconnected
		fault = r.c.Fault(p.At, p.Name, p.Faults)
	}
	r.text = append(r.text, strings.TrimSuffix(p.At+" "+p.Name+": "+p.Faults[fault], ": "))
	r.first = p.Faults[fault] == wire.TwoParts
	switch {
	case p.At != modelCall:
		r.parts--
		r.sent = r.secondOf[p.Name]
	case r.first && !p.Ended:
		r.parts++
		fallthrough
	default:
		r.sent = len(r.server.Sent())
		r.secondOf[p.Name] = r.sent
	}
	r.key, r.base = p.At+" "+p.Name+": "+p.Faults[fault], requests(others)
	for _, q := range others {
		r.key += "\n" + q.Name
	}
	r.world.Deliver(p, fault, false)
}

// requests returns the number of open requests without a first part of their response.
func requests(pending []*fake.Pending) (n int) {
	for _, p := range pending {
		if p.At == modelCall {
			n++
		}
	}
	return n
}

// wait waits until the program has ended the run, which it returns, or until all its requests have come. A program over HTTP does not show
// whether it sends another request, so a program that can have several open requests is observed for some time, unless the
// number of requests is the one that followed the same response before.
func (r *run) wait(ended <-chan struct{}) (over bool) {
	last := r.clock.Now() // when a request came
	for before := len(r.world.Pending()); ; {
		select {
		case <-ended:
			r.Explorer.mu.Lock()
			defer r.Explorer.mu.Unlock()
			r.ends[r.key] = true
			return true
		default:
		}
		pending := r.world.Pending()
		n, first := len(pending), requests(pending)
		if n > before && before > 0 && !r.cold.Load() {
			r.observe(r.clock.Now().Sub(last))
		}
		before, last = n, r.clock.Now()
		arrived := first - r.base
		if n > 1 {
			r.parallel.Store(true)
		}
		if n > 0 && r.enough(arrived, n-first, n) {
			r.learn(arrived)
			return false
		}
		stalled := r.stalling.Load() > 0 // the program gets its end before another response
		if r.awaitChange(ended, n > 0, r.settle()) && !stalled && r.stalling.Load() == 0 {
			r.learn(arrived)
			return false
		}
	}
}

// settle returns how long to wait for another request: several times as long as one has taken, and much longer if something is
// missing that came before, and in the first run of a process, which may load its code.
func (r *run) settle() time.Duration {
	const factor, missing = 5, 25
	r.Explorer.mu.Lock()
	defer r.Explorer.mu.Unlock()
	d := max(r.Settle, factor*r.gap)
	switch requests, known := r.learned[r.key]; {
	case requests > 0 || r.ends[r.key], !known && r.cold.Load():
		d = max(d, min(d*missing, r.Timeout/factor))
	case known: // the program needs time only to take the response
		d = min(d, factor*r.Settle)
	case r.probing.Load(): // others learn from this run
		d *= factor
	}
	return d
}

// observe keeps the longest time between two concurrent requests.
func (r *run) observe(gap time.Duration) {
	r.Explorer.mu.Lock()
	defer r.Explorer.mu.Unlock()
	r.gap = max(r.gap, min(gap, r.Timeout/maxWait))
}

// maxWait limits the time of settle to a part of that of a run.
const maxWait = 100

// awaitChange waits for the end of the run or a request, and if limited only for some time. It returns true if that is over.
func (r *run) awaitChange(ended <-chan struct{}, limited bool, settle time.Duration) (settled bool) {
	ctx := context.Background()
	if limited {
		var cancel context.CancelFunc
		ctx, cancel = r.clock.WithTimeout(ctx, settle, nil)
		defer cancel()
	}
	select {
	case <-ended:
	case <-r.changed:
	case <-ctx.Done():
		return true
	}
	return false
}

// enough reports whether no other request is expected, and the program has taken the response before: only a request that
// follows shows that it has. second is the number of second parts of all open answers.
func (r *run) enough(arrived, second, all int) bool {
	switch {
	case second < r.parts:
		return false
	case !r.parallel.Load() && !r.probing.Load(), r.first && all == 1:
		return true
	}
	if r.key != start { // a complete response leads to at most one request for each of its calls, or to one
		if sent := r.server.Sent(); len(sent) > r.sent && sent[r.sent] != nil && arrived >= max(1, len(sent[r.sent].Calls())) {
			return true
		}
	}
	r.Explorer.mu.Lock()
	defer r.Explorer.mu.Unlock()
	known, is := r.learned[r.key]
	return is && arrived >= max(1, known)
}

func (r *run) learn(arrived int) {
	r.Explorer.mu.Lock()
	defer r.Explorer.mu.Unlock()
	r.learned[r.key] = max(r.learned[r.key], arrived)
}

// finish ends the requests of a run that is over.
func (r *run) finish() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.server.Release()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.open.Wait()
	}()
	const limit = time.Second // of a client that does not read
	ctx, cancel := r.clock.WithTimeout(context.Background(), limit, nil)
	defer cancel()
	for {
		for _, p := range r.world.Pending() {
			r.world.Deliver(p, 0, false)
		}
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-r.changed:
		}
	}
}

// violations returns what the run violated. left is the number of requests that were open at its end.
func (r *run) violations(end *ending, left int) (list []check.Violation) {
	add := func(id, format string, args ...any) {
		list = append(list, check.Violation{Invariant: id, Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}.WithHint())
	}
	report := r.server.Report()
	if end.left {
		add("INV-16", "%s", child.ErrOutput)
	}
	if r.canceled {
		switch {
		case end.unending:
			add("INV-26", "%s", canceledError{r.Cancel, r.CancelTimeout})
		case end.timeout:
			add("INV-26", "%s", timeoutError(r.Timeout))
		case r.Keep && left > 0:
			add("INV-16", "the program wrote done after it was canceled, and requests are open: %d", left)
		}
		for i := range list {
			list[i].Run = "program"
		}
		return list
	}
	r.Explorer.requests.Add(int64(len(r.server.Received()) + len(report.RejectedRequests) + len(report.UnmatchedRequests)))
	switch {
	case end.timeout:
		add("INV-26", "%s", timeoutError(r.Timeout))
	case report.Requests == 0 && len(report.UnmatchedRequests) == 0:
		add("INV-11", "the program made no request")
	case r.Keep && left > 0 && end.failed == "":
		add("INV-16", "the program wrote done while its requests were open: %d", left)
	}
	for _, v := range r.server.Violations(wire.RunEnd{Failed: end.failed, Canceled: end.timeout, Unknown: r.Status == AnyStatus}) {
		if r.Wire.Suppress[v.Invariant] == "" {
			list = append(list, v)
		}
	}
	for i := range list {
		list[i].Run = "program"
	}
	return list
}

// describe returns the run for people.
func (r *run) describe(end *ending) string {
	text := append(slices.Clone(r.text), r.server.Arrived()...)
	switch {
	case end.unending:
		text = append(text, canceledError{r.Cancel, r.CancelTimeout}.Error())
	case end.timeout:
		text = append(text, timeoutError(r.Timeout).Error())
	case end.failed != "":
		text = append(text, "the run fails: "+end.failed)
	case end.left:
		text = append(text, child.ErrOutput.Error())
	default:
		text = append(text, "the run ends")
	}
	if end.stderr != "" {
		text = append(text, "the end of its standard error:")
		for line := range strings.SplitSeq(end.stderr, "\n") {
			text = append(text, "  "+line)
		}
	}
	return strings.Join(text, "\n") + "\n"
}

// digest is a hash of what the run shows: the order of its answers, the structure of its requests without their text, which may
// contain the time, and its end.
func (r *run) digest(end *ending) uint64 {
	h := sha256.New()
	for _, s := range r.text {
		if !strings.HasPrefix(s, "request ") {
			_, _ = fmt.Fprintln(h, s) // a hash takes all
		}
	}
	if r.canceled { // what a program does after a cancel depends on real time
		_, _ = fmt.Fprintln(h, end.unending, end.timeout)
		return binary.BigEndian.Uint64(h.Sum(nil))
	}
	var shapes []string
	for _, req := range r.server.Received() {
		shapes = append(shapes, shape(req.Messages, r.server.Sent()))
	}
	slices.Sort(shapes)
	_, _ = fmt.Fprintln(h, shapes, end.failed, end.timeout, end.left)
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// shape describes messages without their text. Ids of calls that no response had are replaced: programs may generate them at random.
func shape(messages []llm.Message, sent []*llm.Response) string {
	ids := map[string]string{}
	for _, resp := range sent {
		if resp != nil {
			for _, c := range resp.Calls() {
				ids[c.ID] = c.ID
			}
		}
	}
	id := func(s string) string {
		if ids[s] == "" {
			ids[s] = fmt.Sprintf("generated %d", len(ids))
		}
		return ids[s]
	}
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s(", m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				fmt.Fprintf(&b, "call %s %s;", id(p.ID), p.Name)
			case llm.ToolResult:
				fmt.Fprintf(&b, "result %s %v;", id(p.ID), p.IsError)
			default:
				fmt.Fprintf(&b, "%T;", p)
			}
		}
		b.WriteString(")")
	}
	return b.String()
}
