package importer_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// eventsOf returns lines with the data of events as server-sent events.
func eventsOf(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		var event struct{ Type string }
		_ = json.Unmarshal([]byte(line), &event) // the lines are valid
		if event.Type != "" {
			b.WriteString("event: " + event.Type + "\n")
		}
		b.WriteString("data: " + line + "\n")
	}
	return b.String()
}

// arrayOf returns lines as an array.
func arrayOf(lines string) string {
	return "[\n" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",\n") + "\n]\n"
}

// firstHalf returns the first half of lines.
func firstHalf(lines string) string {
	all := slices.Collect(strings.Lines(lines))
	return strings.Join(all[:len(all)/2], "")
}

// A file may have several streaming responses, each a run. A truncated one is an error.
func TestStreamsInOneFile(t *testing.T) {
	const ollama = 5 // its index in streams
	for i, first := range streams {
		second := first
		if strings.Contains(first, `"object":"chat.completion.chunk"`) { // the id distinguishes responses
			second = strings.ReplaceAll(first, `"id":"c"`, `"id":"d"`)
		}
		second = strings.ReplaceAll(second, `"responseId":"g"`, `"responseId":"h"`)
		cut := firstHalf(first)
		_, one := runsIn(first)
		if len(one) != 1 || !strings.HasPrefix(one[0], "run-1 true 0 0; assistant a f ") {
			t.Fatalf("%s: runs %q", first, one)
		}
		again := strings.Replace(one[0], "run-1", "run-2", 1)
		forms := map[string]func(string) string{"lines": func(s string) string { return s }, "an array": arrayOf}
		if i != ollama {
			forms["events"] = eventsOf
		}
		for name, encode := range forms {
			format, got := runsIn(encode(first + second))
			if diff := cmp.Diff([]string{one[0], again}, got); diff != "" || format != "stream" {
				t.Errorf("%s, %s: runs (-want +got):\n%s", encode(first), name, diff)
			}
			format, _, failed, _ := readAll(t, "x", []byte(encode(cut)))
			if format != "stream" || len(failed) != 1 || !strings.Contains(failed[0].Error(), "the response was truncated") {
				t.Errorf("%s, %s, truncated: format %s, errors %v", encode(cut), name, format, failed)
			}
			if i == ollama { // whose events have no id
				continue
			}
			if _, got = runsIn(encode(cut + second)); len(got) != 2 || !strings.Contains(got[0], "false") || got[1] != again {
				t.Errorf("%s, %s, first one truncated: runs %q", encode(cut+second), name, got)
			}
		}
	}
}

// A response of another model follows one of Ollama without an end. An exception of Bedrock, and an event that
// looptape does not know, are reported.
func TestStreamsWithoutEnd(t *testing.T) {
	const ollama, bedrock = 5, 6
	second := strings.ReplaceAll(streams[ollama], `"model":"m"`, `"model":"n"`)
	_, want := runsIn(second)
	if _, got := runsIn(firstHalf(streams[ollama]) + second); len(got) != 2 || !strings.Contains(got[0], "false") || got[1] != strings.Replace(want[0], "run-1", "run-2", 1) {
		t.Errorf("Ollama: runs %q", got)
	}
	_, _, failed, _ := readAll(t, "x", []byte(firstHalf(streams[bedrock])+`{"throttlingException":{"message":"slow"}}`+"\n"))
	if len(failed) != 1 || !strings.Contains(failed[0].Error(), "throttlingException") {
		t.Errorf("an exception: errors %v", failed)
	}
	if got := unknownIn(t, streams[bedrock]+`{"novel":{}}`+"\n"); len(got) != 1 || !strings.Contains(got[0], `"novel"`) {
		t.Errorf("an unknown event: reported %q", got)
	}
}

// Without an id, a response ends with its finish reason, or with [DONE].
func TestStreamsWithoutIDs(t *testing.T) {
	const (
		chunk = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
		stop  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		usage = `data: {"choices":[],"usage":{"prompt_tokens":5}}` + "\n\n"
		parts = `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}]}` + "\n\n"
		last  = `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"b"}]},"finishReason":"STOP"}]}` + "\n\n"
	)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"chunks":                              {chunk + stop + usage + chunk + stop, []string{"run-1 true 0 0; assistant a", "run-2 true 0 0; assistant a"}},
		"chunks with a mark of the end":       {chunk + stop + "data: [DONE]\n\n" + chunk + stop, []string{"run-1 true 0 0; assistant a", "run-2 true 0 0; assistant a"}},
		"an id for each chunk":                {strings.Replace(chunk, "{", `{"id":"x",`, 1) + strings.Replace(chunk, "{", `{"id":"y",`, 1) + stop, []string{"run-1 true 0 0; assistant aa"}},
		"a first chunk with an id of its own": {`data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant"}}]}` + "\n\n" + `data: {"id":"y","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}` + "\n\n" + stop, []string{"run-1 true 0 0; assistant a"}},
		"Gemini":                              {parts + last + parts + last, []string{"run-1 true 0 0; assistant ab", "run-2 true 0 0; assistant ab"}},
		"Gemini with reasons only":            {last + last, []string{"run-1 true 1 0; assistant bb"}},
		"a line that is not of an event":      {chunk + "oops\n\n" + stop, []string{" false 0 0", "run-1 true 0 0; assistant a"}},
		"no event":                            {": ok\n\n", []string{" false 0 0"}},
		"an event that cannot be decoded":     {chunk + "data: {\n\n" + stop, []string{"run-1 false 0 0; assistant a"}},
	} {
		if format, got := runsIn(c.in); format != "stream" || cmp.Diff(c.want, got) != "" {
			t.Errorf("%s: format %s, runs (-want +got):\n%s", name, format, cmp.Diff(c.want, got))
		}
	}
}

// A request or a response may be in a file of events, and a broken line ends its response only.
func TestOtherValuesAmongEvents(t *testing.T) {
	chunks := streams[1]
	body := `{"id":"b","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}` + "\n"
	if _, got := runsIn(chunks + body); len(got) != 2 || got[1] != "b true 0 0; assistant x" {
		t.Errorf("a response after events: runs %q", got)
	}
	_, _, failed, _ := readAll(t, "x", []byte(body+chunks))
	if len(failed) != 4 || failed[0].Error() != "x:2: the response has no end: it was truncated, or it is an event of a stream among whole bodies" {
		t.Errorf("events after a response: errors %v", failed)
	}
	lines := slices.Collect(strings.Lines(chunks))
	lines[1] = "{\n"
	_, runs, failed, _ := readAll(t, "x", []byte(strings.Join(lines, "")+strings.ReplaceAll(chunks, `"id":"c"`, `"id":"d"`)))
	want := []string{"x:2: the line ends within a value", "x:1: an event of the response cannot be read"}
	if diff := cmp.Diff(want, texts(failed)); diff != "" || len(runs) == 0 || runs[len(runs)-1].Partial {
		t.Errorf("a broken line: %d runs, errors (-want +got):\n%s", len(runs), diff)
	}
}

// A response follows its request on the next line, in each protocol.
func TestRequestsAndResponsesInTurn(t *testing.T) {
	for name, c := range bodies {
		for _, request := range []string{c.request, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`} {
			_, runs, failed, unknown := readAll(t, "x", []byte(request+"\n"+c.response+"\n"+request+"\n"+c.response+"\n"))
			if failed != nil || unknown != nil || len(runs) != 4 {
				t.Errorf("%s: %d runs, errors %v, %v", name, len(runs), failed, unknown)
				continue
			}
			if got := summary(&runs[1]); got != `assistant "ok" a f{"x":1}; 5/7 tokens, 0 parts not understood` || runs[0].Messages[len(runs[0].Messages)-1].Text() != "hi" {
				t.Errorf("%s: the response is %s", name, got)
			}
		}
		_, runs, failed, _ := readAll(t, "x", []byte(c.response+"\n"+`{"model":"m","messages":[{"role":"user","content":"hi"}]}`+"\n"))
		if failed != nil || len(runs) != 2 || runs[1].Messages[0].Text() != "hi" {
			t.Errorf("%s: a request after a response: %d runs, errors %v", name, len(runs), failed)
		}
	}
}

// A whole response of Gemini or Ollama states that the model has stopped.
func TestBodiesWithoutEnd(t *testing.T) {
	for _, in := range []string{
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}]}`,
		`[{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}]}]`,
		`{"model":"m","message":{"role":"assistant","content":"a"},"done":false}`,
		`{"custom_id":"r","response":{"body":{"choices":[{"delta":{"content":"a"}}]}}}`,
	} {
		if _, runs, failed, _ := readAll(t, "x", []byte(in)); len(failed) != 1 {
			t.Errorf("%s: %d runs, errors %v, want one", in, len(runs), failed)
		}
	}
}
