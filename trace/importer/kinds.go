package importer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// kinds decides which parts that llm does not have need no report: they are neither a call that the client
// runs nor its result nor text. The prefix of a kind names the reader that kept the part. A kind is known only to
// the readers whose formats have it.
type kinds struct {
	format, protocol string
	hosted           map[string]bool // the ids of the calls that the provider has run; nil if none were searched for
	messages         []llm.Message
	list             []member // memory for the members of one part or message
}

// unknown returns the members of opaque data, until it is called for others.
func (k *kinds) unknown(opaque json.RawMessage) []member {
	k.list = unknownMembers(k.list, opaque)
	return k.list
}

// isKnown reports whether a part needs no report.
func (k *kinds) isKnown(u llm.Unknown, kind string) bool {
	prefix, name := k.reader(kind)
	part := k.part(u, prefix)
	own, isReasoning := reasoningMembers[name]
	switch {
	case readers[prefix] == nil:
		return false
	case slices.Contains(textKinds, name):
		return isEmptyPart(part)
	case isReasoning:
		isRead := message.OtherText(part, own...) == "" && message.IsReasoning(part, own...)
		return isRead && (prefix != "inspect." || !hasOtherData(part, own...))
	case slices.Contains(message.ReferenceKinds, name) && message.OtherText(part) != "":
		return false
	case tree.Scalar(part, "execution") == "client": // a search for tools without an id, which is not a call
		return false
	case readers[prefix][name], mediaKinds[name]:
		return true
	case prefix == "openai.":
		return isSDKPart(name, part) || langChainKinds[name] && slices.Contains(langChainFormats, k.format)
	case prefix == "ai-sdk.":
		return strings.HasPrefix(name, "data-") // of the application
	}
	return strings.HasSuffix(name, "_tool_result") && slices.Contains(codecs, prefix) && k.isHosted(tree.Scalar(part, "tool_use_id"))
}

// aboutMedia are members next to the content of media.
var aboutMedia = tree.Set("image_url", "input_audio", "document_url", "file", "detail", "format", "modality", "source_type", "mime_type", "media_type")

// addMedia adds what the other members of media have in another form than their format: all members of media without
// content, such as a reference to a file, else those next to the content.
func addMedia(m llm.Media, unknown []member, add func(format string, args ...any)) {
	isEmpty := m.URL == "" && len(m.Data) == 0 && m.Digest == ""
	form := ""
	var members tree.Object
	for _, one := range unknown {
		name, value := one.name, one.value
		if snake := tree.Snake(name); snake == "inline_data" || snake == "file_data" && value[0] == '{' {
			form = "gemini"
		}
		if isEmpty || aboutMedia[name] {
			members.Add(name, value)
		}
	}
	if members != nil {
		shape.Media(form, members.JSON(), add)
	}
}

// addMedia adds what a part with media has in another form than its format.
func (k *kinds) addMedia(u llm.Unknown, kind string, add func(format string, args ...any)) {
	prefix, name := k.reader(kind)
	form, part := "", k.part(u, prefix)
	switch {
	case prefix == "tau2.": // the JSON of its content
		return
	case prefix == "converse." && mediaKinds[name]:
		form = "converse"
	case prefix == "gemini." && (name == "inline_data" || name == "file_data"):
		form = "gemini"
	case prefix == "openai." && name == "message.audio":
		form = name
	case prefix == "openinference." && mediaKinds[name]:
		form = "openinference"
	case prefix == "otel." && (name == "blob" || name == "uri"), mediaKinds[name]:
	default:
		return
	}
	shape.Media(form, part, add)
}

// part returns a part as its format has it.
func (k *kinds) part(u llm.Unknown, prefix string) json.RawMessage {
	switch {
	case u.Kind == "gemini_part":
		return tree.Member(u.Raw, "part")
	case slices.Contains(codecs, prefix):
		return u.Raw
	}
	return tree.Member(u.Raw, "value")
}

// reader returns the prefix of a kind, which names the reader that kept the part, and the kind without it.
func (k *kinds) reader(kind string) (prefix, name string) {
	for prefix := range readers {
		if name, ok := strings.CutPrefix(kind, prefix); ok && prefix != "" {
			return prefix, name
		}
	}
	if k.protocol == "openai-chat" {
		return "chat:", kind
	}
	return "", kind
}

// isHosted reports whether the provider has run the call with an id.
func (k *kinds) isHosted(id string) bool {
	if k.hosted == nil {
		k.hosted = map[string]bool{}
		for _, m := range k.messages {
			for _, p := range m.Parts {
				if call, ok := p.(llm.ToolCall); ok && call.ProviderExecuted {
					k.hosted[call.ID] = true
				}
			}
		}
	}
	return k.hosted[id]
}

// codecs are the readers that keep a part as it is: the codecs of the protocols, of which those of OpenAI mark
// kinds that belong to another protocol.
var codecs = []string{"", "chat:", "responses:"}

// readers are the kinds that each reader knows, in addition to text, reasoning and media. From the
// references of the providers' APIs, of the AI SDK (packages/ai/src/ui/ui-messages.ts) and of Inspect
// (inspect_ai.model). They are media, sources, and what the provider does itself.
var readers = map[string]map[string]bool{
	"":               tree.Set(append(append(anthropicKinds, responsesKinds...), chatKinds...)...),
	"responses:":     tree.Set(append(anthropicKinds, responsesKinds...)...),
	"chat:":          tree.Set(chatKinds...),
	"openai.":        tree.Set(append([]string{"message.audio", "search_result", "redacted_thinking"}, chatKinds...)...),
	"ai-sdk.":        tree.Set("file-id", "image-file-id", "reasoning-file", "source", "source-url", "source-document", "custom", "tool-approval-request", "tool-approval-response"),
	"gemini.":        tree.Set("inline_data", "file_data", "executable_code", "code_execution_result", "tool_response"),
	"converse.":      tree.Set("guardContent", "cachePoint", "searchResult", "toolResult"), // the last of a tool that the provider runs
	"inspect.":       tree.Set("tool_use", "data"),                                         // of the provider
	"otel.":          tree.Set("blob", "uri", "server_tool_call", "server_tool_call_response"),
	"openinference.": tree.Set(),
	"tau2.":          tree.Set("user_tool_call", "user_tool_result"), // of a simulated user
}

var (
	anthropicKinds = []string{
		"container_upload", "tool_reference", "search_result", "compaction",
		"web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
		"text_editor_code_execution_tool_result", "tool_search_tool_result", "mcp_tool_result", "advisor_tool_result",
	}
	responsesKinds = []string{
		"tool_search_call", "tool_search_output", "server_tool_call_response", "additional_tools", "tool_addition", "item_reference",
		"mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
		"compaction", "compaction_summary", "context_compaction",
	}
	chatKinds = append([]string{"document"}, message.ReferenceKinds...) // of Cohere and Mistral
)

// mediaKinds are known to each reader, because they hold no text of the model and no call.
var mediaKinds = tree.Set(
	"image", "image_url", "input_image", "audio", "audio_url", "input_audio", "output_audio", "video", "video_url",
	"file", "input_file", "document", "document_url", "media", // document_url is of Mistral
)

// textKinds are kinds of text. A part of such a kind is kept as unknown only if its text is not read.
var textKinds = []string{"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"}

// reasoningMembers are the members of reasoning that a reader may keep as a list or in encrypted form.
var reasoningMembers = map[string][]string{
	"thinking": {"thinking"}, "reasoning": {"reasoning", "summary", "content"},
}

// isEmptyPart reports whether a part of text has no text, nor any other content.
func isEmptyPart(part json.RawMessage) bool {
	for name, value := range tree.Members(part) {
		if !slices.Contains([]string{"type", "id", "index"}, name) && !tree.IsNull(value) && !slices.Contains([]string{`""`, `[]`, `{}`}, string(value)) {
			return false
		}
	}
	return len(part) > 0 && part[0] == '{'
}

// langChainKinds are content blocks of LangChain 1 that its provider runs, or that have no type, and
// langChainFormats are the formats that have its messages.
var (
	langChainKinds   = tree.Set("server_tool_call", "server_tool_result", "server_tool_call_response", "non_standard")
	langChainFormats = []string{"langchain", "langsmith", "langfuse", "langfuse-rows", "otel", "openinference", "rows", "promptfoo"}
)

// isSDKPart reports whether a content part is one of a ModelMessage of the AI SDK without a text, a call or a result
// (packages/provider-utils/src/types/content-part.ts).
func isSDKPart(kind string, part json.RawMessage) bool {
	if kind == "custom" { // of a provider, which its kind names
		return strings.Contains(tree.Scalar(part, "kind"), ".")
	}
	return readers["ai-sdk."][kind]
}
