package codec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
)

// A part of a kind that llm does not know, [llm.Unknown], belongs to the protocol that wrote it.
// Conversations may continue with another provider, so all codecs follow one rule:
//
//   - Requests omit such a part from messages of the assistant and of tools (see [Omits]). The
//     history keeps it for the provider that wrote it.
//   - Anywhere else it is an error (see [CheckUnknown]), because the request would change its
//     meaning without it.

// Names of the protocols, as [Protocol.Name] returns them.
const (
	chat      = "openai-chat"
	responses = "openai-responses"
	messages  = "anthropic-messages"
	generate  = "gemini"
)

// ResponsesMark and ChatMark are prefixes for the kinds of OpenAI's parts that another protocol
// would claim otherwise.
const (
	ResponsesMark = "responses:"
	ChatMark      = "chat:"
)

// Omits reports whether the named protocol omits part p from a message with this role because p
// belongs to another protocol.
func Omits(name string, role llm.Role, p llm.Part) bool {
	u, ok := p.(llm.Unknown)
	if !ok || role != llm.RoleAssistant && role != llm.RoleTool {
		return false
	}
	members, object := membersOf(u)
	return object && !owns(name, u.Kind, members)
}

// CheckUnknown returns an error if the named protocol cannot send p.
func CheckUnknown(name string, p llm.Unknown) error {
	members, object := membersOf(p)
	switch {
	case !object:
		return fmt.Errorf("the part of the kind %q is not a JSON object: use the whole object", p.Kind)
	case !owns(name, p.Kind, members):
		return fmt.Errorf("the part of the kind %q belongs to another protocol and is unknown to %s: remove it from the message", p.Kind, name)
	}
	return nil
}

func membersOf(p llm.Unknown) (members map[string]json.RawMessage, object bool) {
	err := json.Unmarshal(p.Raw, &members)
	return members, err == nil && members != nil
}

// owns reports whether a part may belong to the protocol. A part of an unknown kind may be new.
// Anthropic's parts have no mark. Chat Completions parts have a member whose name begins with
// the kind. A part without a kind may belong to any protocol except Gemini, whose codec marks
// its own.
func owns(name, kind string, members map[string]json.RawMessage) bool {
	if owners := ownersOf(kind, members); owners != nil {
		return slices.Contains(owners, name)
	}
	switch name {
	case messages:
		return true
	case responses:
		return kind == "" || members["encrypted_content"] != nil ||
			strings.HasSuffix(kind, "_output") || strings.HasSuffix(kind, "_response")
	case chat:
		for key := range members {
			if key != "type" && strings.HasPrefix(key, kind) {
				return true
			}
		}
	}
	return false
}

// ownersOf returns the protocols with parts of this kind, or nil if none is known.
func ownersOf(kind string, members map[string]json.RawMessage) []string {
	switch kind {
	case "gemini_part":
		return []string{generate}
	case "compaction": // the summary is Anthropic's to read
		if _, has := members["content"]; has {
			return []string{messages}
		}
		return []string{responses}
	case "input_audio", "refusal":
		return []string{chat, responses}
	case "image_url", "file", "video_url", "reference", "thinking":
		return []string{chat}
	case "image", "document", "search_result", "container_upload", "tool_reference":
		return []string{messages}
	case "item_reference", "message", "reasoning", "reasoning_text", "summary_text", "computer_screenshot",
		"mcp_list_tools", "mcp_approval_request", "mcp_approval_response":
		return []string{responses}
	}
	switch {
	case strings.HasPrefix(kind, ResponsesMark):
		return []string{responses}
	case strings.HasPrefix(kind, ChatMark):
		return []string{chat}
	case strings.HasPrefix(kind, "openai."): // as trace/importer keeps what it does not know
		return []string{}
	case strings.HasSuffix(kind, "_tool_result"):
		return []string{messages}
	case strings.HasPrefix(kind, "input_"), strings.HasPrefix(kind, "output_"),
		strings.HasSuffix(kind, "_call"), strings.HasSuffix(kind, "_call_output"):
		return []string{responses}
	}
	return nil
}
