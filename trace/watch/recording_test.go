package watch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/watch"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// call is one for which answered has the result.
func call(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "f", Arguments: "{}"} }

func result(ids ...string) llm.Message {
	m := llm.Message{Role: llm.RoleTool}
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolResult{ID: id, Name: "f", Content: []llm.Part{llm.Text{Text: "done"}}})
	}
	return m
}

func assistant(text string) llm.Message { return llm.Assistant(llm.Text{Text: text}) }

// marked is a message of the user with a mark for caching.
func marked(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: text, Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`)}}}
}

// asked is a request with its response, which may have no parts.
type asked struct {
	messages    []llm.Message
	said        []llm.Part
	session, id string
	system      string
	extra       map[string]json.RawMessage
}

// recorded returns what is found in a recording, and how many runs it has.
func recorded(p protocol.Protocol, list ...asked) (found []string, runs int) {
	var r watch.Recording
	for i, a := range list {
		x := watch.Interaction{Number: i + 1, Session: a.session, Protocol: p, Request: &llm.Request{Model: "m", System: llm.SystemText(a.system), Messages: a.messages, Extra: a.extra}}
		if a.said != nil {
			x.Response = &llm.Response{Parts: a.said, ResponseID: a.id}
		}
		violations, err := r.Add(x)
		if err != nil {
			found = append(found, err.Error())
		}
		for _, v := range violations {
			found = append(found, fmt.Sprintf("%s %s %d %s", v.Invariant, v.Run, v.Event, v.Message))
		}
	}
	return found, r.Runs
}

// then is a conversation that continues.
func then(messages []llm.Message, more ...llm.Message) []llm.Message {
	return append(append([]llm.Message(nil), messages...), more...)
}

// A conversation is one run, and each violation is reported once, where it first shows.
func TestRecording(t *testing.T) {
	hi := []llm.Message{llm.User("hi")}
	two := then(hi, llm.Assistant(call("a"), call("b")), result("a", "b"))
	lost := then(hi, llm.Assistant(call("a"), call("b")), result("a"))
	both := []llm.Part{call("a"), call("b")}
	const changed = "INV-05 interaction-1 1 the response is sent back with "
	const sent = `INV-01 interaction-1 1 the request was sent without a result of the call "b" (in interaction 2)`
	for name, c := range map[string]struct {
		list []asked
		want []string
		runs int
	}{
		"nothing": {nil, nil, 0},
		"three steps": {[]asked{
			{messages: hi, said: both},
			{messages: two, said: []llm.Part{call("c")}},
			{messages: then(two, llm.Assistant(call("c")), result("c")), said: []llm.Part{llm.Text{Text: "fine"}}},
		}, nil, 1},
		"a result is lost": {[]asked{
			{messages: hi, said: both},
			{messages: lost, said: assistant("fine").Parts},
			{messages: then(lost, assistant("fine"), llm.User("and?")), said: assistant("so").Parts},
		}, []string{sent}, 1},
		"no expected answer":   {[]asked{{messages: hi}, {messages: lost}, {messages: lost}, {messages: then(lost, assistant("fine"), llm.User("and?"))}}, []string{sent}, 1},
		"in the first request": {[]asked{{messages: then(hi, llm.Assistant(call("a")))}}, []string{`INV-01 interaction-1 1 the request was sent without a result of the call "a"`}, 1},
		"an id again": {[]asked{
			{messages: hi, said: both}, {messages: two, said: []llm.Part{call("b")}}, {messages: then(two, llm.Assistant(call("b")), result("b"))},
		}, []string{`INV-04 interaction-1 3 the id "b" is already the id of an earlier call of the run (in interaction 3)`}, 1},
		"a call that was not made": {[]asked{
			{messages: hi, said: []llm.Part{call("a")}}, {messages: two},
		}, []string{"INV-01 interaction-1 1 the response is sent back with 2 calls, but the model made 1 (in interaction 2)"}, 1},
		"another text": {[]asked{
			{messages: hi, said: assistant("hello").Parts}, {messages: then(hi, assistant("goodbye"), llm.User("so?"))},
			{messages: then(hi, assistant("goodbye"), llm.User("so?"), assistant("so"), llm.User("and?"))},
		}, []string{changed + "another text (in interaction 2)"}, 1},
		"another text, later": {[]asked{
			{messages: hi, said: assistant("hello").Parts}, {messages: then(hi, assistant("hello"), llm.User("so?")), said: assistant("so").Parts},
			{messages: then(hi, assistant("goodbye"), llm.User("so?"), assistant("so"), llm.User("and?"))},
		}, []string{changed + "another text (in interaction 3)"}, 1},
		"the text of an earlier response": {[]asked{
			{messages: hi, said: assistant("hello").Parts}, {messages: then(hi, assistant("hello"), llm.User("so?")), said: assistant("so").Parts},
			{messages: then(hi, assistant("hello"), llm.User("so?"), assistant("hello"), llm.User("and?"))},
		}, []string{"INV-05 interaction-1 3 the response is sent back with another text (in interaction 3)"}, 1},
		"another id": {[]asked{
			{messages: hi, said: both}, {messages: then(hi, llm.Assistant(call("a"), call("c")), result("a", "c"))},
		}, []string{changed + `another id of the call "b" (in interaction 2)`}, 1},
		"other ids, later": {[]asked{
			{messages: hi, said: both}, {messages: two, said: assistant("fine").Parts},
			{messages: then(hi, llm.Assistant(call("c"), call("d")), result("c", "d"), assistant("fine"), llm.User("and?"))},
		}, []string{changed + `another id of the call "a" (in interaction 3)`}, 1},
		"the same call again, with the other id": {[]asked{
			{messages: hi, said: both}, {messages: then(hi, llm.Assistant(call("b"), call("a")), result("b", "a"))},
		}, []string{changed + "its calls in another order (in interaction 2)"}, 1},
		"a system prompt of another agent": {[]asked{
			{messages: hi, said: assistant("hello").Parts, system: "Translate."}, {messages: then(hi, assistant("goodbye"), llm.User("so?")), system: "Chat."},
		}, nil, 1},
		"another system prompt": {[]asked{
			{messages: hi, said: both, system: "It is noon."}, {messages: two, said: assistant("fine").Parts, system: "It is one."},
		}, nil, 1},
		"a response that is omitted": {[]asked{{messages: hi, said: assistant("hello").Parts}, {messages: then(hi, llm.User("so?"))}}, nil, 1},
		"a summary":                  {[]asked{{messages: hi, said: both}, {messages: two, said: assistant("fine").Parts}, {messages: []llm.Message{llm.User("in short: hi")}}}, nil, 2},
		"a summary after the first message": {[]asked{
			{messages: hi, said: both}, {messages: two, said: assistant("fine").Parts}, {messages: then(hi, assistant("it was fine"), llm.User("and?"))},
		}, nil, 1},
		"a step that is omitted": {[]asked{
			{messages: hi, said: []llm.Part{call("a")}}, {messages: then(hi, llm.Assistant(call("a")), result("a")), said: []llm.Part{call("b")}},
			{messages: then(hi, llm.Assistant(call("b")), result("b"))},
		}, nil, 1},
		"thoughts in the text": {[]asked{
			{messages: hi, said: assistant("<think>hm</think>hello").Parts}, {messages: then(hi, assistant("hello"), llm.User("so?")), said: assistant("so").Parts},
			{messages: then(hi, assistant("hello"), llm.User("so?"), assistant("<think>\noh\n</think>\nso"), llm.User("and?"))},
		}, nil, 1},
		"no messages":       {[]asked{{}}, []string{"INV-24 interaction-1 -1 the request has no messages"}, 1},
		"two conversations": {[]asked{{messages: hi}, {messages: []llm.Message{llm.User("ho")}}, {messages: two}}, nil, 2},
		"two sessions":      {[]asked{{messages: hi, session: "a"}, {messages: hi, session: "b"}, {messages: lost, session: "b"}}, []string{strings.Replace(strings.Replace(sent, "interaction-1", "interaction-2", 1), "interaction 2", "interaction 3", 1)}, 2},
		"a beginning that comes later": {[]asked{
			{messages: two}, {messages: hi}, {messages: then(two, assistant("so"), llm.User("and?"), llm.Assistant(call("z")))},
		}, []string{`INV-01 interaction-1 5 the request was sent without a result of the call "z" (in interaction 3)`}, 2},
		"marks for caching": {[]asked{
			{messages: []llm.Message{marked("hi")}}, {messages: then(hi, assistant("hello"), marked("and?"))},
		}, nil, 1},
		"branches": {[]asked{
			{messages: hi, said: both}, {messages: lost}, {messages: two}, {messages: then(hi, llm.Assistant(both...), result("b"))},
		}, []string{sent}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			found, runs := recorded(chat.Protocol{}, c.list...)
			if diff := cmp.Diff(c.want, found); diff != "" || runs != c.runs {
				t.Errorf("%d runs, want %d; found (-want +got):\n%s", runs, c.runs, diff)
			}
		})
	}
}

// The items of Responses need not be in the order of a response: a call may come before its
// output, and the calls are of one response all the same.
func TestRecordingItems(t *testing.T) {
	hi := []llm.Message{llm.User("hi")}
	assistant := func(ids ...string) (parts []llm.Part) {
		for _, id := range ids {
			parts = append(parts, call(id))
		}
		return parts
	}
	apart := then(hi, llm.Assistant(call("a")), result("a"), llm.Assistant(call("b")), result("b"))
	for name, c := range map[string]struct {
		list []asked
		want []string
	}{
		"a call, its output": {[]asked{
			{messages: hi, said: assistant("a", "b")}, {messages: apart, said: assistant("c", "d")},
			{messages: then(apart, llm.Assistant(call("c")), result("c"), llm.Assistant(call("d")), result("d"))},
		}, nil},
		"of another try":       {[]asked{{messages: hi, said: assistant("a", "b")}, {messages: hi, said: assistant("c")}, {messages: apart}}, nil},
		"one after another":    {[]asked{{messages: hi, said: assistant("a")}, {messages: apart[:3], said: assistant("b")}, {messages: apart}}, nil},
		"the last without one": {[]asked{{messages: hi, said: assistant("a", "b")}, {messages: apart[:4]}}, []string{`INV-01 interaction-1 1 the request was sent without a result of the call "b" (in interaction 2)`}},
		"an output first":      {[]asked{{messages: hi, said: assistant("a", "b")}, {messages: then(hi, result("a"), apart[1], apart[2])}}, []string{`INV-01 interaction-1 1 a result is for the call "a", which no assistant message before it has (in interaction 2)`}},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := recorded(responses.Protocol{}, c.list...)
			if diff := cmp.Diff(c.want, found); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// References of a request are resolved in the earlier responses.
func TestRecordingRefers(t *testing.T) {
	hi := []llm.Message{llm.User("hi")}
	item := func(id string) llm.Part {
		return llm.Unknown{Kind: "item_reference", Raw: raw(`{"type":"item_reference","id":"` + id + `"}`)}
	}
	made := call("a")
	made.Opaque = raw(`{"id":"fc_1"}`)
	first := asked{messages: hi, said: []llm.Part{made}, id: "resp_1"}
	after := func(id string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"previous_response_id": raw(id)}
	}
	for name, c := range map[string]struct {
		next asked
		want []string
	}{
		"the previous response": {asked{messages: []llm.Message{result("a")}, extra: after(`"resp_1"`)}, nil},
		"with another result":   {asked{messages: []llm.Message{result("b")}, extra: after(`"resp_1"`)}, []string{`INV-01 interaction-1 2 a result is for the call "b", which no assistant message before it has (in interaction 2)`, `INV-01 interaction-1 1 the request was sent without a result of the call "a" (in interaction 2)`}},
		"an unknown response":   {asked{messages: []llm.Message{result("a")}, extra: after(`"resp_2"`)}, []string{`continues the response "resp_2", which is not in the recording`}},
		"a call of its own":     {asked{messages: []llm.Message{result("a"), llm.Assistant(call("b")), llm.User("hi")}, extra: after(`"resp_2"`)}, []string{`continues the response "resp_2", which is not in the recording`, `INV-01 interaction-2 0 the call "b" has no result, and other messages follow`}},
		"null":                  {asked{messages: hi, extra: after("null")}, nil},
		"an item":               {asked{messages: then(hi, llm.Assistant(item("fc_1")), result("a"))}, nil},
		"an unknown item":       {asked{messages: then(hi, llm.Assistant(item("fc_2")), result("a"))}, []string{`refers to the item "fc_2", which is not in the recording`}},
		"a conversation":        {asked{messages: hi, extra: map[string]json.RawMessage{"conversation": raw(`"conv_1"`)}}, []string{"continues a conversation that the provider stores"}},
		"no conversation":       {asked{messages: hi, extra: map[string]json.RawMessage{"conversation": raw("null")}}, nil},
		"a prompt":              {asked{extra: map[string]json.RawMessage{"prompt": raw(`{"id":"p"}`)}}, nil},
		"no prompt":             {asked{extra: map[string]json.RawMessage{"prompt": raw("null")}}, []string{"INV-24 interaction-2 -1 the request has no messages"}},
		"a prompt and messages": {asked{messages: hi, extra: map[string]json.RawMessage{"prompt": raw(`{"id":"p"}`)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(c.next)
			found, _ := recorded(responses.Protocol{}, first, c.next)
			if after := fmt.Sprint(c.next); before != after {
				t.Errorf("the request was %s and became %s", before, after)
			}
			if diff := cmp.Diff(c.want, found); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// What providers have signed has to come back, and reasoning in plain words need not.
func TestRecordingSignaturesRequired(t *testing.T) {
	const lost = "INV-22 interaction-1 1 the response is sent back with "
	reason := func(opaque string) llm.Part { return llm.Reasoning{Text: "hm", Opaque: raw(opaque)} }
	signed := call("a")
	signed.Opaque = raw(`{"thoughtSignature":"c2ln"}`)
	kept := map[string]json.RawMessage{"store": raw("null")}
	for name, c := range map[string]struct {
		p          protocol.Protocol
		said, echo []llm.Part
		extra      map[string]json.RawMessage
		want       string
	}{
		"words alone":                {p: chat.Protocol{}, said: []llm.Part{reason(`{"field":"reasoning"}`), call("a")}, echo: []llm.Part{call("a")}},
		"details in words":           {p: chat.Protocol{}, said: []llm.Part{reason(`{"field":"reasoning","reasoning_details":[{"text":"hm"}]}`), call("a")}, echo: []llm.Part{reason(`{"field":"reasoning_content"}`), call("a")}},
		"details without their text": {p: chat.Protocol{}, said: []llm.Part{reason(`{"field":"reasoning","reasoning_details":[{"text":"hm","signature":"s"}]}`), call("a")}, echo: []llm.Part{reason(`{"reasoning_details":[{"signature":"s", "text":"hm"}]}`), call("a")}},
		"details elsewhere":          {p: chat.Protocol{}, said: []llm.Part{call("a"), reason(`{"reasoning_details":[{"data":"d"}]}`)}, echo: []llm.Part{reason(`{"reasoning_details":[{"data":"d"}]}`), call("a")}},
		"no signature":               {p: chat.Protocol{}, said: []llm.Part{reason(`{"reasoning_details":[{"text":"hm","signature":"s"}]}`), call("a")}, echo: []llm.Part{call("a")}, want: lost + "the part reasoning missing (in interaction 2)"},
		"other data":                 {p: chat.Protocol{}, said: []llm.Part{reason(`{"reasoning_details":[{"data":"d"}]}`), call("a")}, echo: []llm.Part{reason(`{"reasoning_details":[{"data":"e"}]}`), call("a")}, want: lost + "the part reasoning changed (in interaction 2)"},
		"no id of a detail":          {p: chat.Protocol{}, said: []llm.Part{reason(`{"reasoning_details":[{"id":"r"},{"data":"d"}]}`), call("a")}, echo: []llm.Part{reason(`{"reasoning_details":[{"data":"d"}]}`), call("a")}, want: lost + "the part reasoning changed (in interaction 2)"},
		"an unknown item id":         {p: responses.Protocol{}, said: []llm.Part{reason(`{"id":"rs_1"}`), call("a")}, echo: []llm.Part{call("a")}},
		"an item that is kept":       {p: responses.Protocol{}, said: []llm.Part{reason(`{"id":"rs_1"}`), call("a")}, echo: []llm.Part{call("a")}, extra: kept, want: lost + "the part reasoning missing (in interaction 2)"},
		"encrypted":                  {p: responses.Protocol{}, said: []llm.Part{reason(`{"id":"rs_1","encrypted_content":"g"}`), call("a")}, echo: []llm.Part{call("a")}, want: lost + "the part reasoning missing (in interaction 2)"},
		"thinking":                   {p: anthropic.Messages{}, said: []llm.Part{reason(`{"signature":"s"}`), call("a")}, echo: []llm.Part{call("a")}, want: lost + "the part reasoning missing (in interaction 2)"},
		"a signed call":              {p: gemini.GenerateContent{}, said: []llm.Part{signed}, echo: []llm.Part{call("a")}, want: lost + `the part tool call a without its opaque data (in interaction 2)`},
		"marks of the codec":         {p: anthropic.Messages{}, said: []llm.Part{llm.Text{Text: "x", Opaque: raw("{}")}, llm.Unknown{Kind: "web", Raw: raw(`{"type":"web","caller":{"type":"direct"},"age":null}`)}, call("a")}, echo: []llm.Part{llm.Text{Text: "x"}, llm.Unknown{Kind: "web", Raw: raw(`{"type":"web"}`)}, call("a")}},
		"another caller":             {p: anthropic.Messages{}, said: []llm.Part{llm.Unknown{Kind: "web", Raw: raw(`{"type":"web","caller":{"type":"code"}}`)}, call("a")}, echo: []llm.Part{llm.Unknown{Kind: "web", Raw: raw(`{"type":"web"}`)}, call("a")}, want: lost + "the part web changed (in interaction 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			hi := []llm.Message{llm.User("hi")}
			found, _ := recorded(c.p, asked{messages: hi, said: c.said, extra: c.extra}, asked{messages: then(hi, llm.Assistant(c.echo...), result("a")), extra: c.extra})
			if got := strings.Join(found, "\n"); got != c.want {
				t.Errorf("found %s\nwant %s", got, c.want)
			}
		})
	}
}

// A violation of a provider's rule is reported once in a run, and not after an error in the messages.
func TestRecordingRejected(t *testing.T) {
	hi := []llm.Message{llm.User("hi")}
	talk := then(hi, assistant("hm"), llm.User("so"))
	lost := then(hi, llm.Assistant(call("a")), llm.User("so"))
	one, two := "rule 1", "rule 2"
	for name, c := range map[string]struct {
		requests [][]llm.Message
		rules    []string // of each request
		want     []string
	}{
		"once":           {[][]llm.Message{hi, talk}, []string{one, one}, []string{"interaction-1: rule 1"}},
		"later":          {[][]llm.Message{hi, talk}, []string{"", one}, []string{"interaction-1: rule 1 (in interaction 2)"}},
		"another rule":   {[][]llm.Message{hi, talk}, []string{one, two}, []string{"interaction-1: rule 1", "interaction-1: rule 2 (in interaction 2)"}},
		"another run":    {[][]llm.Message{hi, {llm.User("go")}}, []string{one, one}, []string{"interaction-1: rule 1", "interaction-2: rule 1"}},
		"after an error": {[][]llm.Message{hi, lost, lost}, []string{"", one, two}, []string{`interaction-1: the call "a" has no result, and other messages follow (in interaction 2)`}},
	} {
		t.Run(name, func(t *testing.T) {
			var r watch.Recording
			var found []string
			for i, messages := range c.requests {
				x := watch.Interaction{Number: i + 1, Protocol: chat.Protocol{}, Request: &llm.Request{Model: "m", Messages: messages}}
				if c.rules[i] != "" {
					x.Rejected = []check.Violation{{Invariant: "INV-24", Event: check.NoEvent, Message: c.rules[i]}}
				}
				violations, err := r.Add(x)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range violations {
					found = append(found, v.Run+": "+v.Message)
				}
			}
			if diff := cmp.Diff(c.want, found); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// What a request costs does not grow with the requests before it, but with its length.
func BenchmarkRecording(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var r watch.Recording
				var talk []llm.Message
				for i := range n {
					if i%10 == 0 {
						talk = []llm.Message{llm.User(fmt.Sprint("task ", i/10))}
					}
					made := call(fmt.Sprint("c", i))
					x := watch.Interaction{Number: i + 1, Protocol: chat.Protocol{}, Request: &llm.Request{Model: "m", Messages: talk}, Response: &llm.Response{Parts: []llm.Part{made}}}
					if found, err := r.Add(x); err != nil || len(found) > 0 {
						b.Fatal(found, err)
					}
					talk = then(talk, llm.Assistant(made), result(made.ID))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/request")
		})
	}
}
