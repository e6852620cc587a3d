package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
)

// A part of a kind that llm does not know, llm.Unknown, is of the protocol that wrote
// it and means nothing to any other. Since a conversation has to go on where it is
// handed to another provider, there is one rule for all codecs:
//
//   - In a message of the assistant or of tools such a part is left out (see Omits):
//     it tells of what a provider did on its own. The history keeps it, and it is
//     sent again where the conversation comes back to that provider.
//   - Everywhere else, in what the user said and in the content of a tool's result, it
//     is an error (see CheckUnknown): without it the question would be another one.

// The names of the protocols, as Protocol.Name has them.
const (
	chat      = "openai-chat"
	responses = "openai-responses"
	messages  = "anthropic-messages"
	generate  = "gemini"
)

// ResponsesMark and ChatMark are what the codecs of OpenAI's protocols set before the
// kind of a part that is their own although neither the kind nor what is in it tells so.
const (
	ResponsesMark = "responses:"
	ChatMark      = "chat:"
)

// Omits reports whether a request of the protocol of this name leaves a part out of a
// message of such a role, because it is another protocol's.
func Omits(name string, role llm.Role, p llm.Part) bool {
	u, ok := p.(llm.Unknown)
	if !ok || role != llm.RoleAssistant && role != llm.RoleTool {
		return false
	}
	members, object := membersOf(u)
	return object && !owns(name, u.Kind, members)
}

// CheckUnknown returns an error if a request of the protocol of this name cannot have a
// part.
func CheckUnknown(name string, p llm.Unknown) error {
	members, object := membersOf(p)
	switch {
	case !object:
		return fmt.Errorf("the part of the kind %q is not a JSON object; give it whole", p.Kind)
	case !owns(name, p.Kind, members):
		return fmt.Errorf("the part of the kind %q is of another protocol, and means nothing to %s; take it out of the message", p.Kind, name)
	}
	return nil
}

func membersOf(p llm.Unknown) (members map[string]json.RawMessage, object bool) {
	err := json.Unmarshal(p.Raw, &members)
	return members, err == nil && members != nil
}

// owns reports whether a part may be one of the protocol. One of a kind that none is
// known to have may be new: Anthropic's have no mark, those of OpenAI's protocols that
// nothing else tells are marked by their codecs. What tells of Chat Completions is that
// a part has what it holds under the name of the kind, or one that begins with it. A part
// without a kind may be of any but Gemini, whose codec marks its own.
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

// ownersOf returns the protocols that are known to have parts of such a kind; nil if
// none is.
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
