package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

func (w *writer) message(m llm.Message) {
	from := len(w.Dst)
	role := wireRoles[m.Role]
	if role == "" {
		w.Fail("Anthropic Messages has no role %q", m.Role)
		return
	}
	w.Next(`{"role":%,"content":[`, role)
	if w.blocks(m.Role, m.Parts) == 0 {
		if m.Role == llm.RoleUser {
			w.Fail("empty user message: add content")
		}
		w.Dst = w.Dst[:from]
		return
	}
	if w.Messages == 0 && role != roleUser {
		w.Fail("the first message must have the role user, not %q", m.Role)
	}
	w.Add("]")
	w.end(m.Opaque)
	w.Messages++
}

const roleUser = "user"

// wireRoles are the roles of the API.
var wireRoles = map[llm.Role]string{
	llm.RoleUser: roleUser, llm.RoleTool: roleUser, llm.RoleAssistant: "assistant", llm.RoleSystem: "system",
}

func (w *writer) blocks(role llm.Role, parts []llm.Part) (n int) {
	for i, part := range parts {
		if isOmitted(part) || codec.Omits(name, role, part) {
			continue
		}
		n++
		w.Part = i + 1
		w.Next("")
		w.block(role, part)
	}
	w.Part = 0
	return n
}

// isOmitted reports whether a request omits a part that the API rejects: blank text, reasoning
// without a signature, a call that another provider ran.
func isOmitted(part llm.Part) bool {
	switch p := part.(type) {
	case llm.Text:
		return strings.TrimSpace(p.Text) == ""
	case llm.Reasoning:
		return !redacted(p.Opaque) && codec.Get(p.Opaque, "signature") == nil
	case llm.ToolCall:
		return ranElsewhere(p)
	case llm.Media, llm.ToolResult, llm.Unknown:
	}
	return false
}

func (w *writer) block(role llm.Role, part llm.Part) {
	assistant := role == llm.RoleAssistant
	switch p := part.(type) {
	case llm.Text:
		w.text(p)
	case llm.Reasoning:
		if !assistant {
			w.Fail("only an assistant message contains reasoning, not one with the role %q", role)
		}
		w.thinking(p)
	case llm.Media:
		if assistant {
			w.Fail("an assistant message contains no %s in Anthropic Messages", p.MediaType)
		}
		w.media(p)
	case llm.ToolCall:
		if !assistant {
			w.Fail("only an assistant message contains calls, not one with the role %q", role)
		}
		w.echo(p)
	case llm.ToolResult:
		if assistant {
			w.Fail("an assistant message contains no tool result: use llm.Unknown for a result of the provider")
		}
		w.result(p)
	case llm.Unknown:
		w.unknown(p)
	}
}

func (w *writer) echo(p llm.ToolCall) {
	input := []byte("{}")
	if args := []byte(p.Arguments); sane(args) && jsonio.IsObject(p.Arguments) {
		input = codec.AppendValue(nil, args)
	}
	p.ID = w.id(p.ID)
	w.call(p, callName(p.Name), input)
}

// id returns the id of a call in a request, equal for the call and its result. A changed id
// ends with a hash, so that ids stay distinct.
func (w *writer) id(id string) string {
	switch {
	case protocol.IsName(id):
		return id
	case id == "":
		w.Fail("missing call id: set ToolCall.ID")
	}
	return callName(id) + codec.Digest(id)
}

// emptyError is the content of an error result without content, because the API requires some.
const emptyError = "The tool failed without a message."

func (w *writer) result(p llm.ToolResult) {
	w.Add(`{"type":"tool_result","tool_use_id":%`, w.id(p.ID))
	before := len(w.Dst)
	w.Raw("content", "[")
	from := len(w.Dst)
	for i, part := range p.Content {
		if w.Content = i + 1; !isOmitted(part) {
			w.Next("")
			w.inResult(part, p.IsError)
		}
	}
	w.Content = 0
	if p.IsError && len(w.Dst) == from {
		w.text(llm.Text{Text: emptyError})
	}
	if w.Add("]"); len(w.Dst) == from+1 {
		w.Dst = w.Dst[:before]
	}
	if p.IsError {
		w.Raw("is_error", "true")
	}
	w.end(p.Opaque, resultMembers...)
}

// inResult writes a part of a result. In an error result, a text replaces media.
func (w *writer) inResult(part llm.Part, isError bool) {
	switch p := part.(type) {
	case llm.Text:
		w.text(p)
	case llm.Media:
		if isError {
			w.text(llm.Text{Text: p.MediaType + " was omitted: the result of a failed call can contain only text."})
			return
		}
		w.media(p)
	case llm.Unknown:
		w.unknown(p)
	case llm.Reasoning, llm.ToolCall, llm.ToolResult:
		w.Fail("a tool result contains only text, images, documents and llm.Unknown blocks, not %T", p)
	}
}

type writer struct{ codec.Writer }

func (w *writer) text(p llm.Text) {
	w.Add(`{"type":"text","text":%`, p.Text)
	w.end(p.Opaque, textMembers...)
}

func (w *writer) thinking(p llm.Reasoning) {
	if redacted(p.Opaque) {
		w.Add(`{"type":"redacted_thinking"`)
		w.Dst = append(members(p.Opaque).Append(w.Dst, "type"), '}')
		return
	}
	w.Add(`{"type":"thinking","thinking":%,"signature":%`, p.Text, codec.GetString(p.Opaque, "signature"))
	w.end(p.Opaque)
}

// redacted reports whether the opaque data of reasoning is a whole block.
func redacted(opaque json.RawMessage) bool {
	return codec.GetString(opaque, "type") == blockRedacted
}

func (w *writer) call(p llm.ToolCall, name string, input []byte) {
	kind := blockToolUse
	if p.ProviderExecuted {
		kind = cmp.Or(codec.GetString(p.Opaque, "type"), blockServer)
	}
	w.Add(`{"type":%,"id":%,"name":%,"input":%`, kind, p.ID, name, json.RawMessage(input))
	w.end(p.Opaque, callMembers...)
}

func (w *writer) unknown(p llm.Unknown) {
	if w.Unknown(name, p); !sane(p.Raw) {
		w.Fail("the block of type %q nests more than %d deep, or is not UTF-8", p.Kind, maxNesting)
	}
}

func (w *writer) media(p llm.Media) {
	image := strings.HasPrefix(p.MediaType, "image/")
	switch {
	case p.Data == nil && p.URL == "":
		w.Fail("%s has neither data nor a URL (digest %q): load the content", p.MediaType, p.Digest)
	case p.Data == nil && strings.HasPrefix(p.URL, "data:"):
		w.Fail("Anthropic Messages does not accept data URLs: put the bytes of the %s into Data", p.MediaType)
	case image:
		w.Add(`{"type":"image","source":{`)
	case p.MediaType == pdf, p.MediaType == plain && p.Data != nil:
		w.Add(`{"type":"document","source":{`)
	default:
		at := ""
		if p.URL != "" {
			at = " at a URL"
		}
		w.Fail("Anthropic Messages accepts images, PDF and plain text, not %s%s", p.MediaType, at)
	}
	if w.Err != nil {
		return
	}
	w.source(p, image)
	w.Add("}")
	if !image {
		w.OptionalText("title", p.Name)
	}
	w.end(p.Opaque, mediaMembers...)
}

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func (w *writer) source(p llm.Media, image bool) {
	switch {
	case p.Data == nil:
		w.Add(`"type":"url","url":%`, p.URL)
	case p.MediaType == plain:
		if !utf8.Valid(p.Data) {
			w.Fail("the text of a document is not UTF-8")
		}
		w.Add(`"type":"text","media_type":"text/plain","data":%`, string(p.Data))
	default:
		if image && !slices.Contains(imageTypes, p.MediaType) {
			w.Fail("Anthropic Messages accepts image/jpeg, image/png, image/gif and image/webp, not %s", p.MediaType)
		}
		w.Add(`"type":"base64","media_type":%`, p.MediaType)
		w.Base64("data", "", p.Data)
	}
}
