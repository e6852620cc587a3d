package fake

import (
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
)

// variants are a response and what it can be instead: an error of each class at each point, or a quirk of a
// provider. Index 0 is the response itself.
type variants struct {
	names []string
	list  []*Response
	sent  [2][][]llm.Event // by response mode and index, made when they are first sent

	at     placeOf
	places map[int]string // by attempt
}

// mainSession is the session that the names of places omit.
const mainSession = "main"

// placeOf is the place of a response in the script.
type placeOf struct {
	session string
	index   int
}

// failures are the error classes of a model call.
var failures = []struct {
	name string
	Failure
}{
	{"status 400", Failure{Status: 400, Message: "invalid request"}},
	{"status 401", Failure{Status: 401, Message: "invalid key"}},
	{"status 429", Failure{Status: 429, Message: "rate limit"}},
	{"status 500", Failure{Status: 500, Message: "server error"}},
	{"status 529", Failure{Status: 529, Message: "overloaded"}},
	{"a reset connection", Failure{Connection: ConnectionReset}},
	{"a closed connection", Failure{Connection: ConnectionClosed}},
}

// newVariants returns the variants of a response. earlier is the id of a call of an earlier response, if there is one.
func newVariants(r *Response, earlier string) *variants {
	v := &variants{}
	v.add("", *r)
	plain := *r
	plain.Error, plain.Err, plain.Stall, plain.Attempts = nil, nil, false, nil
	v.addFailures(plain)
	v.addFinishes(plain)
	for i := range plain.Calls {
		v.addCalls(plain, i, earlier)
	}
	v.add("is empty", Response{})
	v.add("stalls before the first event", Response{Stall: true})
	stalls := plain
	stalls.Stall = true
	v.add("stalls before its end", stalls)
	if plain.Events == nil {
		small := plain
		small.ChunkSize = 1
		v.add("comes in chunks of one byte", small)
	}
	events := plain.StreamingEvents()
	usage := llm.Usage{InputTokens: 10, OutputTokens: 5}
	v.add("has its usage twice", Response{Events: slices.Concat(events[:len(events)-1], []llm.Event{usage, usage}, events[len(events)-1:])})
	return v
}

func (v *variants) add(name string, r Response) {
	r.Expect, r.Delay, r.Gate, r.EventInterval, r.Repeat, r.Attempts = nil, 0, "", 0, 0, nil
	v.names, v.list = append(v.names, name), append(v.list, &r)
}

// addFailures adds a failure of each class before the first event, and after each event.
func (v *variants) addFailures(r Response) {
	for _, f := range failures {
		v.add("fails before the first event with "+f.name, Response{Error: &f.Failure})
	}
	r.Error = &Failure{}
	n := len(r.StreamingEvents())
	for i := range n {
		for _, f := range failures[3:] {
			fail := f.Failure
			if fail.After = i + 1; i+1 == n {
				fail.After = 0 // all of them
			}
			r.Error = &fail
			v.add("fails after event "+strconv.Itoa(i+1)+" with "+f.name, r)
		}
	}
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

// addCalls adds the quirks of call i.
func (v *variants) addCalls(r Response, i int, earlier string) {
	put := func(name string, set func(c *Call)) {
		r := r
		r.Calls = slices.Clone(r.Calls)
		set(&r.Calls[i])
		v.add("call "+strconv.Itoa(i+1)+" "+name, r)
	}
	put("has no end", func(c *Call) { c.OmitEnd = true })
	put("comes in one event", func(c *Call) { c.SingleChunk = true })
	put("has an empty id", func(c *Call) { c.ID = "" })
	put("has no index", func(c *Call) { c.OmitIndex = true })
	if i > 0 {
		put("has the id of call 1", func(c *Call) { c.ID = r.Calls[0].ID })
		put("has the index of call 1", func(c *Call) { c.Index = 1 })
	}
	if earlier != "" {
		put("has an id of an earlier response", func(c *Call) { c.ID = earlier })
	}
	put("has an empty name", func(c *Call) { c.Name = "" })
	put("calls an unknown tool", func(c *Call) { c.Name = "unknown_tool" })
	arguments := func(name, args string) {
		put(name, func(c *Call) { c.Arguments, c.Chunks = args, nil })
	}
	args := r.Calls[i].Arguments
	for _, chunk := range r.Calls[i].Chunks {
		args += chunk
	}
	arguments("has no arguments", "")
	arguments("has arguments that are cut", args[:len(args)/2])
	arguments("has its arguments twice", args+args)
	arguments("has arguments that are no object", "[1]")
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
func (v *variants) events(i int, mode llm.ResponseMode) []llm.Event {
	m := 0
	if mode == llm.NonStreaming {
		m = 1
	}
	if v.sent[m] == nil {
		v.sent[m] = make([][]llm.Event, len(v.list))
	}
	if v.sent[m][i] == nil {
		if m == 1 {
			v.sent[m][i] = v.list[i].NonStreamingEvents()
		} else {
			v.sent[m][i] = v.list[i].StreamingEvents()
		}
	}
	return v.sent[m][i]
}
