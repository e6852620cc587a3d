package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

type writer struct {
	codec.Writer
	written []string        // the members of Extra that were written in place of others
	seen    map[string]bool // item ids that the request contains (SR-04)
	custom  map[string]bool // call ids of custom calls
}

func (w *writer) input() {
	const each = 256 // bytes of most messages
	from := len(w.Dst)
	w.Dst = slices.Grow(w.Dst, each*(1+len(w.Req.Messages)))
	w.Raw("input", "[")
	for i := range w.Req.Messages {
		w.Message = i + 1
		w.message(&w.Req.Messages[i])
	}
	w.Message = 0
	w.Add("]")
	if !w.Has("input") {
		w.Dst = w.Dst[:from]
		w.put("input", "")
	}
}

func (w *writer) message(m *llm.Message) {
	switch m.Role {
	case llm.RoleUser, llm.RoleSystem:
		w.userMessage(m)
	case llm.RoleAssistant:
		w.assistant(m.Parts)
	case llm.RoleTool:
		for i, p := range m.Parts {
			if w.Part = i + 1; !codec.Omits(protocolName, m.Role, p) {
				w.toolPart(p)
			}
		}
		w.Part = 0
	default:
		w.Fail("unknown role %q", m.Role)
	}
}

func (w *writer) userMessage(m *llm.Message) {
	role := string(m.Role)
	if r := codec.GetString(m.Opaque, "role"); r == "developer" && m.Role == llm.RoleSystem {
		role = r
	}
	w.Next(`{"role":%`, role)
	w.itemID(m.Opaque, messageID)
	w.Dst = itemNames.Append(w.Dst, m.Opaque, "role", "id", "type", "content", "status")
	w.content("content", m.Parts, &w.Part)
	w.Add("}")
}

// itemID writes the id of an item, if it has the prefix of its kind (SR-05) and is not in the
// request yet (SR-04, SR-06).
func (w *writer) itemID(opaque json.RawMessage, prefix string) {
	if id := knownID(opaque, prefix); id != "" && !w.seen[id] {
		w.seen[id] = true
		w.Text("id", id)
	}
}

// Prefixes of item ids.
const (
	messageID   = "msg"
	reasoningID = "rs"
	callItemID  = "fc"
	customID    = "ct"
)

// knownID returns the id of an item if it has the prefix. OpenAI rejects the ids of
// OpenAI-compatible servers.
func knownID(opaque json.RawMessage, prefix string) string {
	if id := codec.GetString(opaque, "id"); strings.HasPrefix(id, prefix) {
		return id
	}
	return ""
}

func soleText(parts []llm.Part) (string, bool) {
	switch len(parts) {
	case 0:
		return "", true
	case 1:
		t, ok := parts[0].(llm.Text)
		return t.Text, ok && t.Opaque == nil
	}
	return "", false
}

// content writes text, media and unknown parts: at most one text as a string, others as an
// array. At is the index of the part for errors.
func (w *writer) content(key string, parts []llm.Part, at *int) {
	if t, ok := soleText(parts); ok {
		w.Text(key, t)
		return
	}
	w.Raw(key, "[")
	for i, p := range parts {
		*at = i + 1
		w.contentPart(p, at == &w.Part)
	}
	*at = 0
	w.Add("]")
}

func (w *writer) contentPart(p llm.Part, audio bool) {
	switch p := p.(type) {
	case llm.Text:
		w.Next(`{"type":"input_text","text":%`, p.Text)
		w.Dst = append(contentNames.Append(w.Dst, p.Opaque, partMembers...), '}')
	case llm.Media:
		w.media(&p, audio)
	case llm.Unknown:
		w.Next("")
		w.Unknown(protocolName, p)
	default:
		w.Fail("%s is not allowed here: use text or media", partName(p))
	}
}

// partMembers are the members of a content part that this package writes.
var partMembers = []string{"type", "text", "refusal", "image_url", "file_url", "file_data", "filename", "input_audio"}

func partName(p llm.Part) string {
	switch p.(type) {
	case llm.Text:
		return "a text"
	case llm.Reasoning:
		return "reasoning"
	case llm.Media:
		return "media"
	case llm.ToolCall:
		return "a tool call"
	case llm.ToolResult:
		return "a tool result"
	default:
		return "nothing"
	}
}

func (w *writer) media(m *llm.Media, audio bool) {
	if m.Data == nil && m.URL == "" && codec.GetString(m.Opaque, "file_id") == "" {
		w.Fail("the media has neither data nor a URL: load the content")
	}
	switch {
	case strings.HasPrefix(m.MediaType, "image/"):
		w.Next(`{"type":"input_image"`)
		w.source("image_url", "image_url", m)
	case strings.HasPrefix(m.MediaType, "audio/"):
		w.Next(`{"type":"input_audio"`)
		w.audio(m, audio)
	default:
		w.Next(`{"type":"input_file"`)
		name := m.Name
		if name == "" && m.Data != nil {
			name = fileName(m.MediaType)
		}
		w.OptionalText("filename", name)
		w.source("file_data", "file_url", m)
	}
	w.Dst = append(contentNames.Append(w.Dst, m.Opaque, partMembers...), '}')
}

func (w *writer) source(dataKey, urlKey string, m *llm.Media) {
	if m.Data != nil {
		w.Base64(dataKey, "data:"+m.MediaType+";base64,", m.Data)
		return
	}
	w.OptionalText(urlKey, m.URL)
}

func (w *writer) audio(m *llm.Media, allowed bool) {
	for _, f := range audioFormats {
		if f.mediaType == m.MediaType && m.Data != nil && allowed {
			w.Raw("input_audio", "{")
			w.Base64("data", "", m.Data)
			w.Add(`,"format":%}`, f.format)
			return
		}
	}
	w.Fail("the Responses API accepts audio only in user messages, as audio/wav or audio/mpeg data, not %s", m.MediaType)
}

func (w *writer) toolPart(p llm.Part) {
	switch p := p.(type) {
	case llm.ToolResult:
		w.result(&p)
	case llm.Unknown:
		w.Next("")
		w.Unknown(protocolName, p)
	default:
		w.Fail("%s is not allowed in a tool message: use results", partName(p))
	}
}

func (w *writer) result(r *llm.ToolResult) {
	kind := kindOutput
	if w.custom[r.ID] || codec.GetString(r.Opaque, "type") == kindCustomOutput {
		kind = kindCustomOutput
	}
	w.Next(`{"type":%`, kind)
	w.itemID(r.Opaque, "")
	w.Text("call_id", w.callID(r.ID))
	w.content("output", r.Content, &w.Content)
	w.endItem(r.Opaque)
}

// maxCallID is the length limit of call ids (SR-15).
const maxCallID = 64

func (w *writer) callID(id string) string {
	if id == "" {
		w.Fail("missing call id: set it on the call and its result")
	}
	return codec.ShortID(id, maxCallID)
}

// itemMembers are the members of an item that this package writes.
var itemMembers = []string{"type", "id", "call_id", "name", "arguments", "input", "output", "status", "role", "content"}
