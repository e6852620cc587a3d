package fake

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/llm"
)

// variants are a response and what it can be instead: an error of each class at each point, or a quirk of a
// provider. Index 0 is the response itself.
type variants struct {
	mode  llm.ResponseMode
	names []string
	list  []*Response
	sent  [][]llm.Event // by index, made when they are first sent

	at     placeOf
	places map[int]string // by attempt
}

// mainSession is the session that the names of places omit.
const mainSession = "main"

// Variant is what can come in place of a response in an explored run.
type Variant struct {
	// Name describes the difference, such as "fails after event 2 with status 500"; it is empty for the response itself.
	Name     string
	Response *Response
}

// Variants returns the response, and what can come in its place in an explored run, in this mode. earlier are the responses
// before it in the script.
func (t *Response) Variants(mode llm.ResponseMode, earlier []Response) (list []Variant) {
	v := newVariants(t, mode, earlierID(earlier))
	for i, r := range v.list {
		list = append(list, Variant{v.names[i], r})
	}
	return list
}

// placeOf is the place of a response in the script.
type placeOf struct {
	session string
	index   int
}

// failure is an error class of a model call.
type failure struct {
	name string
	Failure
}

// failures can come before and after each event of a response.
var failures = []failure{
	{"status 500", Failure{Status: 500, Message: "server error"}},
	{"status 529", Failure{Status: 529, Message: "overloaded"}},
	{"a reset connection", Failure{Connection: ConnectionReset}},
	{"a closed connection", Failure{Connection: ConnectionClosed}},
}

// rejections come before the first event.
var rejections = []failure{
	{"status 400", Failure{Status: 400, Message: "invalid request"}},
	{"status 401", Failure{Status: 401, Message: "invalid key"}},
	{"status 429", Failure{Status: 429, Message: "rate limit"}},
	{"status 429 and 20 s to wait", Failure{Status: 429, Message: "rate limit", RetryAfter: 20 * time.Second}},
	{"status 429 and an hour to wait", Failure{Status: 429, Message: "rate limit", RetryAfter: time.Hour}},
	{"status 503 that must not be retried", Failure{Status: 503, Message: "closed", Retryable: new(false)}},
}

// newVariants returns the variants of a response. earlier is the id of a call of an earlier response, if there is one.
func newVariants(r *Response, mode llm.ResponseMode, earlier string) *variants {
	v := &variants{mode: mode}
	v.add("", *r)
	plain := *r
	plain.Error, plain.Err, plain.Stall, plain.Attempts = nil, nil, false, nil
	v.addFailures(plain)
	v.addFinishes(plain)
	for i := range plain.Calls {
		v.addCall(plain, i, earlier)
		v.addArguments(plain, i)
	}
	v.addContents(plain)
	v.addEvents(plain)
	return v
}

func (v *variants) add(name string, r Response) {
	r.Expect, r.Delay, r.Gate, r.EventInterval, r.Repeat, r.Attempts = nil, 0, "", 0, 0, nil
	v.names, v.list = append(v.names, name), append(v.list, &r)
}

// addFailures adds a failure of each class before the first event, and after each event.
func (v *variants) addFailures(r Response) {
	for _, f := range slices.Concat(rejections, failures) {
		v.add("fails before the first event with "+f.name, Response{Error: &f.Failure})
	}
	r.Error = &Failure{}
	n := len(r.StreamingEvents())
	for i := range n {
		for _, f := range failures {
			fail := f.Failure
			if fail.After = i + 1; i+1 == n {
				fail.After = 0 // all of them
			}
			r.Error = &fail
			v.add("fails after event "+strconv.Itoa(i+1)+" with "+f.name, r)
		}
	}
	r.Error = &Failure{Status: 200, Code: "502", Message: "the provider failed", Retryable: new(true)}
	v.add("ends with an error of status 200", r)
}

// addFinishes adds each other finish, and none.
func (v *variants) addFinishes(r Response) {
	none := r
	none.OmitFinish = true
	v.add("has no finish", none)
	var own llm.FinishReason
	for _, ev := range r.StreamingEvents() {
		if f, ok := ev.(llm.Finish); ok {
			own = f.Reason
		}
	}
	for _, reason := range []llm.FinishReason{
		llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishContentFilter, llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall, llm.FinishError, llm.FinishUnknown,
	} {
		if reason != own {
			r.FinishReason = reason
			v.add("finishes with "+string(reason), r)
		}
	}
}

// addCall adds the quirks of call i, apart from its arguments.
func (v *variants) addCall(r Response, i int, earlier string) {
	put := func(name string, set func(c *Call)) { v.putCall(r, i, name, set) }
	put("has no end", func(c *Call) { c.OmitEnd = true })
	put("comes in one event", func(c *Call) { c.SingleChunk = true })
	put("has an empty id", func(c *Call) { c.ID = "" })
	put("has no index", func(c *Call) { c.OmitIndex = true })
	put("has an index after a gap", func(c *Call) { c.Index = i + 6 })
	if i > 0 {
		put("has the id of call 1", func(c *Call) { c.ID = r.Calls[0].ID })
		put("has the index of call 1", func(c *Call) { c.Index = 1 })
	}
	if earlier != "" {
		put("has an id of an earlier response", func(c *Call) { c.ID = earlier })
	}
	put("has an empty name", func(c *Call) { c.Name = "" })
	put("calls an unknown tool", func(c *Call) { c.Name = "unknown_tool" })
	put("has opaque data", func(c *Call) { c.Opaque = []byte(`{"signature":"CpcB"}`) })

	text := r
	text.Calls = slices.Delete(slices.Clone(r.Calls), i, i+1)
	text.Text += `<tool_call>{"name":"` + r.Calls[i].Name + `","arguments":` + argumentsOf(&r.Calls[i]) + `}</tool_call>`
	if r.Chunks == nil {
		v.add(callName(i, "comes as text"), text)
	}
	v.addCallEvents(r, i)
}

func callName(i int, name string) string { return "call " + strconv.Itoa(i+1) + " " + name }

func (v *variants) putCall(r Response, i int, name string, set func(c *Call)) {
	r.Calls = slices.Clone(r.Calls)
	set(&r.Calls[i])
	v.add(callName(i, name), r)
}

func argumentsOf(c *Call) string { return c.Arguments + strings.Join(c.Chunks, "") }

// addCallEvents adds the quirks of the events of call i.
func (v *variants) addCallEvents(r Response, i int) {
	at, n := -1, 0 // of its start
	events := r.StreamingEvents()
	for j, ev := range events {
		if _, is := ev.(llm.ToolCallStart); is {
			if n++; n == i+1 {
				at = j
			}
		}
	}
	if at < 0 || n != len(r.Calls) { // a call comes in one event
		return
	}
	late, bare := slices.Clone(events), slices.Clone(events)
	start, _ := events[at].(llm.ToolCallStart)
	late[at] = llm.ToolCallStart{Index: start.Index, ID: start.ID, Opaque: start.Opaque}
	last := at + 1
	for ; last < len(events); last++ {
		d, is := events[last].(llm.ToolCallDelta)
		if !is {
			break
		}
		d.ID = ""
		bare[last] = d
	}
	late = slices.Insert(late, last, llm.Event(llm.ToolCallStart{Index: start.Index, ID: start.ID, Name: start.Name}))
	v.add(callName(i, "has its name after its arguments"), Response{Events: late})
	if v.mode == llm.NonStreaming { // there it is another call
		return
	}
	bare = slices.Insert(bare, last, llm.Event(llm.ToolCallStart{Index: start.Index}))
	v.add(callName(i, "continues with an empty id and an empty name"), Response{Events: bare})
}

// addArguments adds the quirks of the arguments of call i.
func (v *variants) addArguments(r Response, i int) {
	args := argumentsOf(&r.Calls[i])
	put := func(name string, chunks ...string) {
		v.putCall(r, i, name, func(c *Call) {
			if c.Arguments, c.Chunks = chunks[0], nil; len(chunks) > 1 {
				c.Arguments, c.Chunks = "", chunks
			}
		})
	}
	put("has no arguments", "")
	put("has arguments that are cut", args[:len(args)/2])
	put("has arguments without their beginning", args[min(2, len(args)):])
	put("has its arguments twice", args+args)
	put("has arguments that grow", args[:len(args)/3], args[:2*len(args)/3], args)
	put("has {} before its arguments", "{}", args)
	put("has an empty chunk before its arguments", "", args)
	put("has white space after its arguments", args, " ", "\n")
	put("has a text after its arguments", args+" please")
	put("has arguments that are no object", "[1]")
	if i > 0 {
		return
	}
	put("has arguments with a key twice", `{"a":1,"a":2}`)
	put("has arguments with half a surrogate pair", `{"a":"\ud83d"}`)
}

// addContents adds what a response can have in place of its content, or in addition.
func (v *variants) addContents(r Response) {
	v.add("is empty", Response{})
	v.add("is a refusal", Response{Text: "I cannot help with that.", Refusal: true})
	v.add("stalls before the first event", Response{Stall: true})
	stalls := r
	stalls.Stall = true
	v.add("stalls before its end", stalls)
	if r.Events != nil {
		return
	}
	small := r
	small.ChunkSize = 1
	v.add("comes in chunks of one byte", small)
	if r.Reasoning == "" {
		r.Reasoning, r.ReasoningOpaque = "I think.", []byte(`{"signature":"EqQB"}`)
		v.add("begins with reasoning", r)
	}
}

// addEvents adds events to those of a response.
func (v *variants) addEvents(r Response) {
	events := r.StreamingEvents()
	end := slices.IndexFunc(events, func(ev llm.Event) bool { _, is := ev.(llm.Finish); return is })
	if end < 0 {
		end = len(events)
	}
	put := func(name string, at int, more ...llm.Event) {
		v.add(name, Response{Events: slices.Concat(events[:at], more, events[at:])})
	}
	usage := llm.Usage{InputTokens: 10, OutputTokens: 5}
	put("has its usage twice", end, usage, usage)
	put("has its usage in parts", end, llm.Usage{InputTokens: 10, OutputTokens: 1}, llm.Usage{OutputTokens: 5})
	put("has its usage after its end", len(events), usage)
	put("ends twice", len(events), events[end:]...)
	put("has an empty text before its end", end, llm.TextDelta{})
	put("begins with an unknown event", 0, llm.Unknown{Kind: "ping", Raw: []byte(`{"type":"ping"}`)})
	put("begins with an unknown part", 0, llm.PartDone{Part: llm.Unknown{Kind: "hologram", Raw: []byte(`{"type":"hologram","hue":1}`)}})
	put("begins with a call that the provider ran", 0,
		llm.PartDone{Part: llm.ToolCall{ID: "srvtoolu_1", Name: "web_search", Arguments: `{"query":"x"}`, ProviderExecuted: true}},
		llm.PartDone{Part: llm.Unknown{Kind: "web_search_tool_result", Raw: []byte(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)}})
	for i, ev := range slices.Backward(events) {
		if _, is := ev.(llm.ToolCallStart); is {
			put("has reasoning before its last call", i, llm.ReasoningDelta{Text: "I think again.", Opaque: []byte(`{"signature":"ErUB"}`)})
			break
		}
	}
}

// place names a request by the position of its response and the attempt.
func (v *variants) place(session string, index, attempt int) string {
	if at := (placeOf{session, index}); v.at != at {
		v.at, v.places = at, map[int]string{}
	}
	name := v.places[attempt]
	if name == "" {
		name = strconv.Itoa(index)
		if session != "" && session != mainSession {
			name = session + " " + name
		}
		if attempt > 1 {
			name += ", attempt " + strconv.Itoa(attempt)
		}
		v.places[attempt] = name
	}
	return name
}

// events returns the events of a variant.
func (v *variants) events(i int) []llm.Event {
	if v.sent == nil {
		v.sent = make([][]llm.Event, len(v.list))
	}
	if v.sent[i] == nil {
		if v.mode == llm.NonStreaming {
			v.sent[i] = v.list[i].NonStreamingEvents()
		} else {
			v.sent[i] = v.list[i].StreamingEvents()
		}
	}
	return v.sent[i]
}
