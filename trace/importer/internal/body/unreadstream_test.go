package body_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer/internal/body"
)

// Events that differ from the one before in more than the text of their content are searched for data that is not read.
func TestUnreadRepeatedEvents(t *testing.T) {
	event := func(n int, choice string) string {
		return fmt.Sprintf("data: {\"id\":\"x\",\"created\":%d,\"model\":\"m\",\"choices\":[{\"index\":0,%s,\"finish_reason\":null}]}\n\n", n, choice)
	}
	const content = `"delta":{"content":%q}`
	for _, c := range []struct{ name, before, choice, want string }{
		{"text", content, `"delta":{"content":"\"c}\\"}`, ""},
		{"a role", content, `"delta":{"role":"assistant","content":"c"}`, ""},
		{"another type", content, `"delta":{"content":7}`, "event 4 of the stream: choices[0].delta.content is 7: want a string"},
		{"an unknown part", content, `"delta":{"content":[{"type":"hologram"}]}`, `the content of the response has a part of the kind "hologram", which is not read`},
		{"calls next to the content", content, `"delta":{"content":"c","tool_uses":[{"id":"a","name":"f","arguments":{}}]}`, `the message has the unknown member "tool_uses"`},
		{"text next to the content", content, `"delta":{"content":"c","body":"lost"}`, `the message has text that is not read, as "body"`},
		{"text next to the delta", content, `"delta":{"content":"c"},"text":"lost"`, `the choice has the unknown member "text"`},
		{"text next to the content of all", `"delta":{"body":"b","content":%q}`, `"delta":{"body":"b","content":"c"}`, `the message has text that is not read, as "body"`},
		{"text next to the delta of all", `"delta":{"content":%q},"text":"b"`, `"delta":{"content":"c"},"text":"b"`, `the choice has the unknown member "text"`},
		{"another choice", content, `"delta":{"content":"c"}},{"index":1,"delta":{"content":"d"}`, "the response has 2 alternatives, and only the first is read"},
		{"no choice", content, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, number := range map[string]func(int) int{"equal events": func(int) int { return 0 }, "different events": func(n int) int { return n }} {
				var stream strings.Builder
				stream.WriteString(event(0, `"delta":{"role":"assistant","content":""}`))
				for n, text := range []string{"a b", "b"} {
					stream.WriteString(event(number(n), fmt.Sprintf(c.before, text)))
				}
				if c.choice != "" {
					stream.WriteString(event(number(3), c.choice))
				} else {
					stream.WriteString("data: {\"id\":\"x\",\"choices\":[]}\n\n")
				}
				stream.WriteString(event(number(4), `"delta":{"content":"e"}`) + "data: [DONE]\n\n")
				got := strings.Join(body.Unread("openai-chat", []byte(stream.String()), nil), "\n")
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// An event after [DONE] is not skipped, although it is equal to an earlier one except for its content.
func TestUnreadRepeatedEventAfterEnd(t *testing.T) {
	const event = `data: {"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
	got := body.Unread("openai-chat", []byte(event+event+"data: [DONE]\n\n"+event), nil)
	if diff := cmp.Diff([]string{"the stream has content after [DONE], which is not read"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
