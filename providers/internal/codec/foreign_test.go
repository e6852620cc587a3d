package codec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// TestForeignParts shows to which protocols a part goes: c to Chat Completions, r to
// Responses, a to Anthropic, g to Gemini.
func TestForeignParts(t *testing.T) {
	names := map[string]string{"c": "openai-chat", "r": "openai-responses", "a": "anthropic-messages", "g": "gemini"}
	for _, c := range []struct{ kind, members, want string }{
		{"gemini_part", `"part":{}`, "g"},
		{"compaction", `"content":null`, "a"},
		{"compaction", `"content":"C","encrypted_content":"E"`, "a"},
		{"compaction", `"id":"cmp_1","encrypted_content":"E"`, "r"},
		{"input_audio", `"input_audio":{}`, "cr"},
		{"refusal", `"refusal":"no"`, "cr"},
		{"image_url", `"image_url":{}`, "c"},
		{"file", `"file":{}`, "c"},
		{"video_url", `"video_url":{}`, "c"},
		{"reference", `"reference_ids":[1]`, "c"},
		{"thinking", `"thinking":[]`, "c"},
		{"image", `"source":{}`, "a"},
		{"document", `"source":{},"document":1`, "a"},
		{"search_result", `"source":"s"`, "a"},
		{"container_upload", `"file_id":"f"`, "a"},
		{"tool_reference", `"tool_name":"f"`, "a"},
		{"web_search_tool_result", `"tool_use_id":"t"`, "a"},
		{"item_reference", `"id":"i"`, "r"},
		{"message", `"x":1`, "r"},
		{"reasoning", `"x":1`, "r"},
		{"reasoning_text", `"x":1`, "r"},
		{"summary_text", `"x":1`, "r"},
		{"computer_screenshot", `"x":1`, "r"},
		{"mcp_list_tools", `"x":1`, "r"},
		{"mcp_approval_request", `"x":1`, "r"},
		{"mcp_approval_response", `"x":1`, "r"},
		{"input_image", `"x":1`, "r"},
		{"output_audio", `"x":1`, "r"},
		{"local_shell_call", `"x":1`, "r"},
		{"local_shell_call_output", `"x":1`, "r"},
		{"openai.novel", `"value":{},"openai.novel":1,"id":"i"`, ""},
		// A new kind: a protocol takes for its own what is in its form.
		{"novel", `"x":1`, "a"},
		{"novel", `"novel_x":1`, "ca"},
		{"novel", `"id":"i"`, "a"},
		{"responses:novel", `"id":"i"`, "r"},
		{"novel", `"encrypted_content":"E"`, "ra"},
		{"novel_output", `"x":1`, "ra"},
		{"novel_response", `"x":1`, "ra"},
		{"", `"x":1`, "cra"},
	} {
		p := llm.Unknown{Kind: c.kind, Raw: json.RawMessage(fmt.Sprintf(`{"type":%q,%s}`, c.kind, c.members))}
		for mark, name := range names {
			own := strings.Contains(c.want, mark)
			for role, want := range map[llm.Role]bool{llm.RoleAssistant: !own, llm.RoleTool: !own, llm.RoleUser: false, llm.RoleSystem: false} {
				if got := codec.Omits(name, role, p); got != want {
					t.Errorf("%s is omitted from a message of the %s to %s: %t, want %t", p.Raw, role, name, got, want)
				}
			}
			var want string
			if !own {
				want = fmt.Sprintf("the part of the kind %q belongs to another protocol and is unknown to %s: remove it from the message", c.kind, name)
			}
			if diff := cmp.Diff(want, or(codec.CheckUnknown(name, p))); diff != "" {
				t.Errorf("%s to %s (-want +got):\n%s", p.Raw, name, diff)
			}
		}
	}
}

// or is an error's text, and nothing for none.
func or(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A value that is not an object is an error everywhere, and the rule does not apply to parts
// that llm defines.
func TestForeignPartsInvalid(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `1`, `{`} {
		p := llm.Unknown{Kind: "reference", Raw: json.RawMessage(raw)}
		if codec.Omits("gemini", llm.RoleAssistant, p) {
			t.Errorf("%s is omitted", raw)
		}
		const want = `the part of the kind "reference" is not a JSON object: use the whole object`
		if got := or(codec.CheckUnknown("openai-chat", p)); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
	if codec.Omits("gemini", llm.RoleAssistant, llm.Text{Text: "a"}) {
		t.Error("a text part is omitted")
	}
}
