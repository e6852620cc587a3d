package fake_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// A quirk of providers is shown by variants of a response, or a wire reason explains why no llm.Model shows it.
var quirkVariants = []struct {
	id       string
	variants []string
	reason   string
}{
	{id: "QO-01", variants: []string{"finishes with stop"}},
	{id: "QO-02", variants: []string{"finishes with tool_calls"}}, // of a text
	{id: "QO-03", variants: []string{"finishes with length", "call 2 has arguments that are cut"}},
	{id: "QO-04", variants: []string{"call 1 has no index", "call 2 has no index"}},
	{id: "QO-05", variants: []string{"call 2 has the index of call 1"}},
	{id: "QO-06", variants: []string{"call 1 has an index after a gap"}},
	{id: "QO-07", variants: []string{"call 1 has an empty id"}},
	{id: "QO-08", variants: []string{"call 1 has an id of an earlier response"}},
	{id: "QO-09", variants: []string{"call 2 has the id of call 1"}},
	{id: "QO-10", variants: []string{"call 1 has its name after its arguments"}},
	{id: "QO-11", variants: []string{"call 1 comes in one event"}},
	{id: "QO-12", variants: []string{"call 1 has arguments that grow"}},
	{id: "QO-13", variants: []string{"call 1 has its arguments twice"}},
	{id: "QO-14", variants: []string{"call 1 has {} before its arguments", "call 1 has white space after its arguments"}},
	{id: "QO-15", variants: []string{"call 1 has no arguments"}},
	{id: "QO-16", reason: "a codec returns an object as its text"},
	{id: "QO-17", reason: "a chunk with arguments and a finish becomes two events"},
	{id: "QO-18", variants: []string{"has its usage after its end"}},
	{id: "QO-19", reason: "an empty chunk becomes no event"},
	{id: "QO-20", variants: []string{"ends with an error of status 200"}},
	{id: "QO-21", variants: []string{"fails after event 3 with a closed connection"}},
	{id: "QO-22", reason: "a codec ends the response at its finish"},
	{id: "QO-23", variants: []string{"call 1 comes as text"}},
	{id: "QO-24", variants: []string{"is a refusal"}},
	{id: "QO-25", variants: []string{"has no finish"}},
	{id: "QO-26", variants: []string{"ends twice"}},
	{id: "QO-27", variants: []string{"call 1 continues with an empty id and an empty name"}},
	{id: "QO-28", variants: []string{"begins with reasoning"}},
	{id: "QO-29", variants: []string{"begins with reasoning"}},
	{id: "QO-30", variants: []string{"call 1 has an empty name"}},
	{id: "QO-31", reason: "it depends on the request: a response with several calls is no quirk"},

	{id: "QR-01", variants: []string{"call 1 has opaque data"}},
	{id: "QR-02", variants: []string{"begins with reasoning", "has reasoning before its last call"}},
	{id: "QR-03", variants: []string{"finishes with length", "call 2 has arguments that are cut"}},
	{id: "QR-04", variants: []string{"call 1 has no end"}},
	{id: "QR-05", variants: []string{"call 1 has arguments that are cut"}},
	{id: "QR-06", variants: []string{"call 1 comes in one event"}},
	{id: "QR-07", reason: "a request has it, not a response"},
	{id: "QR-08", variants: []string{"fails after event 3 with status 500"}},
	{id: "QR-09", variants: []string{"call 2 has the index of call 1"}},
	{id: "QR-10", reason: "a codec keeps the items that were streamed"},

	{id: "QA-01", variants: []string{"call 1 has {} before its arguments"}},
	{id: "QA-02", variants: []string{"call 1 comes in one event"}},
	{id: "QA-03", variants: []string{"fails after event 3 with a closed connection"}},
	{id: "QA-04", variants: []string{"fails before the first event with status 529", "fails after event 1 with status 529"}},
	{id: "QA-05", variants: []string{"begins with an unknown event", "begins with an unknown part"}},
	{id: "QA-06", variants: []string{"has its usage in parts"}},
	{id: "QA-07", variants: []string{"finishes with pause"}},
	{id: "QA-08", variants: []string{"finishes with length"}},
	{id: "QA-09", reason: "a request has it, not a response"},
	{id: "QA-10", variants: []string{"call 1 has an empty chunk before its arguments", "call 1 has arguments without their beginning"}},
	{id: "QA-11", variants: []string{"call 1 has no end"}},
	{id: "QA-12", variants: []string{"begins with reasoning", "has reasoning before its last call"}},
	{id: "QA-13", reason: "a codec ends the response at its stop reason, with a warning"},
	{id: "QA-14", variants: []string{"begins with a call that the provider ran"}},

	{id: "QG-01", variants: []string{"finishes with stop"}},
	{id: "QG-02", variants: []string{"has an empty text before its end"}},
	{id: "QG-03", variants: []string{"call 1 has an empty id"}},
	{id: "QG-04", variants: []string{"call 1 has opaque data"}},
	{id: "QG-05", reason: "a request has it, not a response"},
	{id: "QG-06", variants: []string{"finishes with malformed_call"}},
	{id: "QG-07", variants: []string{"is empty"}},
	{id: "QG-08", variants: []string{"is empty", "ends with an error of status 200"}},
	{id: "QG-09", variants: []string{"has its usage twice", "has its usage in parts"}},
	{id: "QG-10", variants: []string{"comes in chunks of one byte"}},
	{id: "QG-11", variants: []string{"finishes with malformed_call"}},
	{id: "QG-12", variants: []string{"fails before the first event with status 500", "fails after event 1 with status 500"}},

	{id: "QT-01", reason: "the ends of lines"},
	{id: "QT-02", reason: "the fields of server-sent events"},
	{id: "QT-03", reason: "the length of lines"},
	{id: "QT-04", variants: []string{"comes in chunks of one byte"}},
	{id: "QT-05", variants: []string{"fails after event 3 with a reset connection"}},
	{id: "QT-06", variants: []string{
		"fails before the first event with status 429", "fails before the first event with status 429 and 20 s to wait",
		"fails before the first event with status 429 and an hour to wait",
	}},
	{id: "QT-07", variants: []string{
		"fails before the first event with status 400", "fails before the first event with status 401",
		"fails before the first event with status 503 that must not be retried",
	}},
	{id: "QT-08", reason: "a body that is no response becomes an error of its status"},
	{id: "QT-09", variants: []string{
		"call 1 has a text after its arguments", "call 1 has arguments that are no object", "call 1 has arguments with a key twice",
		"call 1 has arguments with half a surrogate pair",
	}},
	{id: "QT-10", variants: []string{"stalls before the first event", "stalls before its end"}},
	{id: "QT-11", reason: "a codec ends the response at its mark"},
}

// otherVariants show no quirk of the list.
var otherVariants = []string{
	"call 1 calls an unknown tool", "finishes with content_filter", "finishes with refusal", "finishes with error", "finishes with unknown",
}

// TestNonStreamingVariants: a non-streaming response has no call that only the events of a stream would continue.
func TestNonStreamingVariants(t *testing.T) {
	r := fake.Response{Calls: []fake.Call{{ID: "c1", Name: "t", Arguments: `{"n":1}`}, {ID: "c2", Name: "t", Arguments: `{"n":2}`}}}
	for _, v := range r.Variants(llm.NonStreaming, nil) {
		calls := 0
		for _, ev := range v.Response.NonStreamingEvents() {
			done, _ := ev.(llm.PartDone)
			if c, is := done.Part.(llm.ToolCall); is && !c.ProviderExecuted {
				calls++
			}
		}
		if calls > len(r.Calls) {
			t.Errorf("%q has %d calls; the response has %d", v.Name, calls, len(r.Calls))
		}
	}
}

// TestQuirkVariants: an exploration shows each quirk that a model can show, and each variant differs from the response.
func TestQuirkVariants(t *testing.T) {
	responses := []*fake.Response{
		{Text: "I look.", Calls: []fake.Call{{ID: "c1", Name: "t", Arguments: `{"n":1}`}, {ID: "c2", Name: "t", Arguments: `{"n":2}`}}},
		{Text: "done"},
	}
	missing := map[string]bool{}
	for _, r := range responses {
		list := r.Variants(llm.Streaming, []fake.Response{{Calls: []fake.Call{{ID: "c0"}}}})
		seen := map[string]bool{}
		for i, v := range list {
			name := v.Name
			missing[name] = true
			shown := eventsOf(t, v.Response)
			if i > 0 && seen[shown] && !strings.HasPrefix(name, "fails before the first event") && !strings.HasPrefix(name, "fails after event") {
				t.Errorf("%q equals another variant: %s", name, shown)
			}
			seen[shown] = true
		}
	}
	has := func(name string) {
		if _, ok := missing[name]; !ok {
			t.Errorf("no response has the variant %q", name)
		}
		missing[name] = false
	}
	ids := quirkIDs()
	for _, q := range quirkVariants {
		if len(ids) == 0 || ids[0] != q.id || (q.variants == nil) == (q.reason == "") {
			t.Fatalf("%s: want one row for each quirk in order, with variants or a reason; the next is %v", q.id, ids)
		}
		ids = ids[1:]
		for _, name := range q.variants {
			has(name)
		}
	}
	for _, name := range otherVariants {
		has(name)
	}
	for name, unlisted := range missing {
		if unlisted && name != "" && !strings.HasPrefix(name, "fails ") && !strings.HasPrefix(name, "call 2 ") {
			t.Errorf("the variant %q shows no quirk; add it to a row, or to otherVariants", name)
		}
	}
	if len(ids) > 0 {
		t.Errorf("quirks without a row: %v", ids)
	}
}

// quirkIDs returns the ids of the catalogue.
func quirkIDs() (ids []string) {
	for _, group := range []struct {
		name string
		n    int
	}{{"QO", 31}, {"QR", 10}, {"QA", 14}, {"QG", 12}, {"QT", 11}} {
		for i := range group.n {
			ids = append(ids, fmt.Sprintf("%s-%02d", group.name, i+1))
		}
	}
	return slices.Clip(ids)
}

// eventsOf returns the events of a response, its error included.
func eventsOf(t *testing.T, r *fake.Response) string {
	t.Helper()
	var b strings.Builder
	for _, ev := range r.StreamingEvents() {
		line, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%T%s ", ev, line)
	}
	fmt.Fprintf(&b, "%v %t", r.Error, r.Stall)
	return b.String()
}
