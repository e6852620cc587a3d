package wire

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/quirk"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// World serves a script again and again, each time with other choices. Each response waits until
// [fake.World.Deliver] is called for it, with one of its faults: an error, a connection that ends, other content,
// a quirk of the provider, or a pause within the response. Expectations of the script are not checked, and a request
// beyond the script gets a text after a fault that may cause it.
//
// A World has one run at a time. The run begins with [fake.World.BeginAnswers] and [World.Begin]. [World.Copy] is for
// concurrent runs.
type World struct {
	*fake.World
	*rendered

	// Stall, if not nil, is the time for which a response stalls, after which its connection ends. It is for programs
	// in real time: no response asks to wait before a retry.
	Stall func(ctx context.Context)

	cfg   Config
	model *fake.Model
}

// rendered is what the copies of a world share.
type rendered struct {
	mu      sync.Mutex
	known   map[optionsKey]*options
	parsed  map[[sha256.Size]byte]*parsed
	answers map[answerKey]*answer
}

// NewWorld returns the world of cfg.Script, which must not change while it is used. Model, Quirks, Wait, Delays and
// FindQuirks of cfg are ignored.
func NewWorld(cfg Config) *World {
	w := &World{World: fake.NewWorld(cfg.Script), rendered: &rendered{known: map[optionsKey]*options{}, parsed: map[[sha256.Size]byte]*parsed{}, answers: map[answerKey]*answer{}}, cfg: cfg, model: newModel(cfg.Script)}
	w.model.Responses = withoutExpectations(w.model.Script(w.model.Default))
	for name := range w.model.Sessions {
		w.model.Sessions[name] = withoutExpectations(w.model.Script(name))
	}
	return w
}

func withoutExpectations(list []fake.Response) []fake.Response {
	list = slices.Clone(list)
	for i := range list {
		r := &list[i]
		r.Expect, r.Repeat, r.Attempts = nil, 0, slices.Clone(r.Attempts)
		for j := range r.Attempts {
			r.Attempts[j].Expect = nil
		}
	}
	return list
}

// Copy returns a world for runs that are concurrent with those of w. Both send the same responses.
func (w *World) Copy() *World {
	return &World{World: fake.NewWorld(w.cfg.Script), rendered: w.rendered, Stall: w.Stall, cfg: w.cfg, model: w.model}
}

// Begin returns the server of the next run.
func (w *World) Begin() *Server {
	cfg := w.cfg
	cfg.Script, cfg.Quirks, cfg.Wait, cfg.Delays, cfg.FindQuirks = nil, nil, nil, false, false
	m := w.model
	cfg.Model = &fake.Model{Responses: m.Responses, Sessions: m.Sessions, Default: m.Default, IsolateConversations: true, DiscardRequests: true}
	s := New(cfg)
	s.explored = &exploredRun{world: w, sent: map[reply.Place][]sentOption{}, names: names{awaited: map[string]*awaited{}, pending: map[*fake.Pending]*awaited{}, texts: map[string]string{}}}
	s.explored.free, s.explored.end = context.WithCancel(context.Background())
	s.strict.EditScript = func(p *reply.Response) {
		list := s.explored.sentAt(p)
		o := list[len(list)-1]
		p.Script = *o.response
		quirk.EditScript(p, o.forms)
	}
	s.strict.Render = func(p *reply.Response) (list []*reply.Reply) {
		for _, o := range s.explored.sentAt(p) {
			list = append(list, o.render(p))
		}
		return list
	}
	return s
}

// TwoParts is the fault of a response whose second part is an answer of its own.
const TwoParts = "comes in two parts"

// options are what can come in place of a response.
type options struct {
	names []string
	list  []*option
}

// optionsKey has all that options depend on.
type optionsKey struct {
	protocol, model, key, request string
	mode                          llm.ResponseMode
	array, last                   bool
	place                         reply.Place
}

// option is a response with a fault. The first option of a response has none.
type option struct {
	name     string
	response *fake.Response
	forms    []quirk.Form
	paused   bool // the second half waits for another choice
	effect   effect
}

// answerKey has all that an answer depends on.
type answerKey struct {
	*option
	conversation string
}

// effect is how a fault may change what a correct client does.
type effect int

// The effects.
const (
	noEffect  effect = iota // the client gets the same message, or continues with other content
	wrongCall               // a call is wrong, and gets a result with an error
	endsEarly               // the run may end, with an error or without
	failsCall               // the client gets no response, and may fail
)

// options returns what can come in place of a response.
func (w *World) options(p *reply.Response) *options {
	key := optionsKey{
		protocol: p.Protocol.Name(), model: p.Request.Model, key: p.MaskedKey, request: requestKey(p),
		mode: p.Request.ResponseMode, array: p.Array, last: p.IsLast, place: p.Key.Place,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.known[key]
	if o == nil {
		o = w.newOptions(p)
		w.known[key] = o
	}
	return o
}

// requestKey has what faults depend on in a request, apart from what each request has.
func requestKey(p *reply.Response) string {
	at, ids := -1, []string(nil)
	for i, m := range slices.Backward(p.Request.Messages) {
		if calls := m.Calls(); len(calls) > 0 {
			at = i
			for _, c := range calls {
				ids = append(ids, c.ID)
			}
			break
		}
	}
	parallel := ""
	if b := p.Request.Settings.ParallelToolCalls; b != nil {
		parallel = strconv.FormatBool(*b)
	}
	return fmt.Sprintf("%d %q %s %s", at, ids, parallel, p.Request.Extra["stream_options"])
}

// newOptions makes the options of a response: itself, its variants and quirks, each unless it is the same on the wire
// as an earlier one.
func (w *World) newOptions(p *reply.Response) *options {
	o := &options{}
	seen := map[uint64]bool{}
	var plain *llm.Response
	add := func(c option) {
		r := c.render(p)
		if r.Status == 501 { // the protocol cannot encode it
			return
		}
		if w.Stall != nil && len(o.list) > 0 && (r.Header.Get("Retry-After") != "" || r.Header.Get("Retry-After-Ms") != "") {
			return
		}
		a := newAnswer(r)
		if h := a.hash(); seen[h] && !c.paused {
			return
		} else {
			seen[h] = true
		}
		if len(o.list) == 0 {
			plain = a.response
		}
		c.effect = max(c.effect, effectOf(plain, a))
		a.cut(c.paused)
		keep(w.answers, answerKey{&c, p.Key.Conversation}, a)
		o.names, o.list = append(o.names, c.name), append(o.list, &c)
	}
	add(option{response: &p.Script})
	if w.beyond(p.Key.Place) {
		return o
	}
	add(option{name: TwoParts, response: &p.Script, paused: true})
	for _, v := range p.Script.Variants(p.Request.ResponseMode, w.model.Script(p.Key.Session)[:p.Key.Response]) {
		if !ofProvider(v.Response) || ofProvider(&p.Script) {
			add(option{name: v.Name, response: v.Response})
		}
	}
	for _, f := range quirk.Forms() {
		name := Quirk(f.Info).String()
		if slices.Contains(largeQuirks, name) {
			continue
		}
		a := *p
		if _, shown := quirk.Render(&a, []quirk.Form{f}); shown[0] {
			add(option{name: "shows " + name, response: &p.Script, forms: []quirk.Form{f}, effect: endingEffect(f.Ending)})
		}
	}
	return o
}

// largeQuirks are quirks that need much time because of their size. No order of responses matters for them.
var largeQuirks = []string{"QT-03:line", "QT-03:event", "QT-09:deep"}

// ofProvider reports whether a response has data that only one provider sends. The quirks have the data of each.
func ofProvider(r *fake.Response) bool {
	return slices.ContainsFunc(r.StreamingEvents(), func(ev llm.Event) bool {
		switch ev := ev.(type) {
		case llm.Unknown:
			return true
		case llm.ReasoningDelta:
			return ev.Opaque != nil
		case llm.TextDelta:
			return ev.Opaque != nil
		case llm.ToolCallStart:
			return ev.Opaque != nil
		case llm.PartDone:
			call, is := ev.Part.(llm.ToolCall)
			return !is || call.ProviderExecuted || call.Opaque != nil
		case llm.ToolCallDelta, llm.ToolCallEnd, llm.Usage, llm.Warning, llm.Finish:
		}
		return false
	})
}

// beyond reports whether the script has no response at a place.
func (w *World) beyond(at reply.Place) bool { return at.Response >= len(w.model.Script(at.Session)) }

func (o *option) render(p *reply.Response) *reply.Reply {
	a := *p
	a.Script = *o.response
	r, _ := quirk.Render(&a, o.forms)
	return r
}

// answer returns what is sent for a response with an option.
func (w *World) answer(o *option, p *reply.Response) *answer {
	key := answerKey{o, p.Key.Conversation}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.answers[key]
	if a == nil {
		a = newAnswer(o.render(p))
		a.cut(o.paused)
		keep(w.answers, key, a)
	}
	return a
}

// soon is the header of an error in real time: SDKs that read it do not wait for long before they retry.
const soon = "Retry-After-Ms"

func endingEffect(ending string) effect {
	switch ending {
	case quirk.EndsWithError:
		return failsCall
	case quirk.EndsEarly:
		return endsEarly
	}
	return noEffect
}

// effectOf compares what a client decodes without a fault and with it.
func effectOf(plain *llm.Response, a *answer) effect {
	switch r := a.response; {
	case r == nil:
		return failsCall
	case plain == nil: // an error of the script, after which the script goes another way
		return endsEarly
	case r.FinishReason != llm.FinishStop && r.FinishReason != llm.FinishToolCalls,
		len(r.Calls()) == 0 && len(plain.Calls()) > 0:
		return endsEarly
	case !slices.EqualFunc(r.Calls(), plain.Calls(), func(a, b llm.ToolCall) bool {
		return a.ID == b.ID && a.Name == b.Name && a.Arguments == b.Arguments
	}):
		return wrongCall
	}
	return noEffect
}

// answer is a response on the wire.
type answer struct {
	*reply.Reply // not its frames and its body

	body     []byte
	ends     []int         // of the chunks
	pause    int           // the number of bytes before the part that another choice sends; 0 means none
	response *llm.Response // as a client decodes it; nil if it is incomplete
}

func newAnswer(r *reply.Reply) *answer {
	a := &answer{Reply: r}
	if r.Status != 0 {
		a.body, a.ends = r.Bytes()
	}
	streams := r.Request.ResponseMode == llm.Streaming
	if m, ok := r.Decoded(); ok && r.Status == 200 && r.End != reply.Reset && !r.Open && streams == (len(r.Frames) > 0) {
		a.response = m
	}
	return a
}

// cut sets the pause of an answer that comes in two parts: after half of the chunks, or within a single one.
func (a *answer) cut(paused bool) {
	switch n := len(a.ends); {
	case !paused:
	case n == 1:
		a.pause = len(a.body) / 2
		a.ends = []int{a.pause, len(a.body)}
	case n > 1:
		a.pause = a.ends[(n-1)/2]
	}
}

// hash identifies what is on the wire.
func (a *answer) hash() uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, a.Status, a.Header, a.ends, a.End, a.Open, string(a.Repeat)) // a hash takes all
	_, _ = h.Write(a.body)
	return h.Sum64()
}
