package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/jsonval"
)

// repeats are objects in examples that repeat other ones, whose content is read.
var repeats = map[string]string{
	"adk-session: 1.events[1].content":                "a part of the next event",
	"claude-agent-sdk: 4.message":                     "the echo of a prompt",
	"codex: 17.payload.replacement_history[0]":        "the history before it",
	"inspect: 1.samples[0].output.choices[0].message": "the last message",
	"langfuse: 1.observations[2].input[0]":            "the input of another observation",
	"langfuse: 1.observations[2].input[1]":            "the output of another observation",
	"langfuse: 2.observations[0].input.messages[0]":   "the input of a call of the agent",
	"langfuse: 2.observations[0].output":              "the output of a call of the agent",
	"langfuse-rows: 1[3].input[0]":                    "the input of another observation",
	"langfuse-rows: 1[3].input[1]":                    "the output of another observation",
}

// visit calls see with each object in a value, and its place.
func visit(v any, place string, see func(place string, object map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			visit(v[name], place+"."+name, see)
		}
		see(place, v)
	case []any:
		for i, element := range v {
			visit(element, fmt.Sprintf("%s[%d]", place, i), see)
		}
	}
}

// isAround reports whether an object of an example has the content of a message, a step or a response.
func isAround(object map[string]any) bool {
	return slices.ContainsFunc([]string{"role", "finish_reason", "finishReason", "done"}, func(name string) bool { return object[name] != nil })
}

// Text and calls in one more member of a message, a step or a response are read or reported.
func TestFurtherMembersAreReported(t *testing.T) {
	for name, text := range examples {
		lines := []string{text}
		if !json.Valid([]byte(text)) {
			lines = strings.Split(strings.TrimSpace(text), "\n")
		}
		_, _, failed, unknown := readAll(t, "file", []byte(text))
		for member, value := range map[string]string{"text": `"marker"`, "tool_calls": `[{"id":"marker","type":"function","function":{"name":"marker","arguments":"{}"}}]`} {
			for n, line := range lines {
				v, err := jsonval.Decode([]byte(line))
				if err != nil {
					t.Fatal(err)
				}
				visit(v, fmt.Sprintf("%s: %d", name, n+1), func(place string, object map[string]any) {
					if _, has := object[member]; has || !isAround(object) || repeats[place] != "" {
						return
					}
					object[member] = json.RawMessage(value)
					changed := slices.Clone(lines)
					with, err := json.Marshal(v)
					if changed[n] = string(with); err != nil {
						t.Fatal(err)
					}
					delete(object, member)
					_, runs, nowFailed, nowUnknown := readAll(t, "file", []byte(strings.Join(changed, "\n")+"\n"))
					isRead := len(nowFailed)+len(nowUnknown) > len(failed)+len(unknown)
					for _, run := range runs {
						for _, m := range run.Messages {
							isRead = isRead || bytes.Contains(m.AppendJSON(nil), []byte("marker"))
						}
					}
					if !isRead {
						t.Errorf("%s: %s is not read and not reported", place, member)
					}
				})
			}
		}
	}
}
