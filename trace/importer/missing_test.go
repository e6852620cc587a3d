package importer_test

import (
	"fmt"
	"strings"
	"testing"
)

// Files show by their own numbers and counts that a part of them is missing.
func TestMissingPartsAreReported(t *testing.T) {
	var (
		atif = func(ids, final string) string {
			var steps []string
			for id := range strings.SplitSeq(ids, ",") {
				steps = append(steps, `{"step_id":`+id+`,"source":"user","message":"q"}`)
			}
			return `{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"a","version":"1"},"steps":[` + strings.Join(steps, ",") + `]` + final + `}`
		}
		tau2 = func(first, second string) string {
			return `{"id":"s","task_id":"7","termination_reason":"user_stop","messages":[{"role":"assistant","content":"a","turn_idx":` + first + `},{"role":"user","content":"q","turn_idx":` + second + `}]}`
		}
		results = func(stats string) string {
			return `{"evalId":"e","results":{"version":3,"results":[{"success":true,"score":1,"vars":{"x":"1"},"prompt":{"raw":"q"},"response":{"output":"a"}}],"stats":` + stats + `}}`
		}
		span = func(members, attributes string) string {
			return `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","name":"chat"` + members + `,"attributes":[` + attributes + `]}]}]}]}`
		}
		openLLMetry = func(indices ...int) string {
			attributes := `{"key":"gen_ai.completion.0.role","value":{"stringValue":"assistant"}},{"key":"gen_ai.completion.0.content","value":{"stringValue":"a"}}`
			for _, n := range indices {
				attributes += fmt.Sprintf(`,{"key":"gen_ai.prompt.%d.role","value":{"stringValue":"user"}},{"key":"gen_ai.prompt.%d.content","value":{"stringValue":"q"}}`, n, n)
			}
			return attributes
		}
		phoenix = func(members, attributes string) string {
			return `{"name":"x"` + members + `,"attributes":{"openinference.span.kind":"LLM",` + attributes + `,"llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.content":"a"}}`
		}
		stream = func(indices ...int) (file string) {
			add := func(event string) { file += "data: " + event + "\n\n" }
			add(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)
			for _, n := range indices {
				add(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, n))
				add(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"a"}}`, n))
				add(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n))
			}
			add(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`)
			add(`{"type":"message_stop"}`)
			return file
		}
		said = func(n int, rest string) string {
			return fmt.Sprintf(`"llm.input_messages.%d.message.role":"user","llm.input_messages.%d.message.%s`, n, n, rest)
		}
	)
	const (
		id     = `,"context":{"trace_id":"t","span_id":"s"}`
		text   = `content":"q"`
		second = `contents.1.message_content.type":"text","llm.input_messages.0.message.contents.1.message_content.text":"b"`
		events = `{"key":"openinference.span.kind","value":{"stringValue":"CHAIN"}}`
	)
	for name, c := range map[string]struct{ file, want string }{
		"steps of ATIF":                 {atif("1,2,4", ""), "steps[2]: the step_id is 4 after 2"},
		"all steps of ATIF":             {atif("1,2,3", `,"final_metrics":{"total_steps":3}`), ""},
		"steps from a later one":        {atif("7,8", ""), ""},
		"fewer steps":                   {atif("1,2", `,"final_metrics":{"total_steps":3}`), "final_metrics.total_steps: the trajectory had 3 steps, and has 2"},
		"fewer steps, with a reason":    {atif("1,2", `,"final_metrics":{"total_steps":3},"notes":"cut"`), ""},
		"messages of tau2-bench":        {tau2("0", "2"), "messages[1]: the turn_idx is 2 after 0"},
		"all messages of tau2-bench":    {tau2("0", "1"), ""},
		"messages without numbers":      {tau2("null", "5"), ""},
		"results of promptfoo":          {results(`{"successes":1,"failures":1,"errors":1}`), "its header requires 3 runs and it has 1"},
		"all results of promptfoo":      {results(`{"successes":1,"failures":0,"errors":0}`), ""},
		"attributes of a span":          {span(`,"droppedAttributesCount":4`, openLLMetry(0)), "the recorder dropped 4 attributes or events"},
		"events of a span":              {span(`,"droppedEventsCount":2`, openLLMetry(0)), "the recorder dropped 2 attributes or events"},
		"attributes of another span":    {span(`,"droppedAttributesCount":4`, events), ""},
		"messages of OpenLLMetry":       {span("", openLLMetry(0, 2)), "missing attributes: gen_ai.prompt.1:"},
		"all messages of OpenLLMetry":   {span("", openLLMetry(0, 1, 2)), ""},
		"messages of OpenInference":     {phoenix(id, said(0, text)+","+said(2, text)), "missing attributes: llm.input_messages.1:"},
		"all messages of OpenInference": {phoenix(id, said(0, text)+","+said(1, text)), ""},
		"first messages":                {phoenix(id, said(2, text)), "missing attributes: llm.input_messages.0:"},
		"attributes alone":              {`{` + said(2, text) + `}`, ""},
		"blocks of a stream":            {stream(0, 2), "a block of the index 2 after that of the index 0"},
		"all blocks of a stream":        {stream(0, 1, 2), ""},
		"blocks with one index":         {stream(0, 0), ""},
		"part of the content":           {phoenix(id, said(0, second)), "missing attributes: message.contents.0:"},
	} {
		var got []string
		for _, u := range unknownIn(t, c.file) {
			if !strings.Contains(u, "no span has the messages") { // of the span of a chain alone
				got = append(got, u)
			}
		}
		if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: reported %q, want %q", name, got, c.want)
		}
	}
}
