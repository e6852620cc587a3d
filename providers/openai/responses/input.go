package responses

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// inputWriter writes the items of a request.
type inputWriter struct {
	dst    []byte
	seen   map[string]bool // item ids that stand there already (SR-04)
	custom map[string]bool // call ids of custom calls
}

// encodeInput returns the array of items for messages.
func encodeInput(messages []llm.Message) ([]byte, error) {
	const each = 256 // bytes, at least usually, of a message
	w := inputWriter{dst: make([]byte, 0, each*(1+len(messages))), seen: map[string]bool{}, custom: map[string]bool{}}
	w.dst = append(w.dst, '[')
	for i := range messages {
		if err := w.message(&messages[i]); err != nil {
			return nil, fmt.Errorf("messages[%d]%w", i, err)
		}
	}
	return append(w.dst, ']'), nil
}

// message writes the items of a message. Its errors begin with the path in it.
func (w *inputWriter) message(m *llm.Message) error {
	switch m.Role {
	case llm.RoleUser, llm.RoleSystem:
		return w.userMessage(m)
	case llm.RoleAssistant:
		return w.assistant(m.Parts)
	case llm.RoleTool:
		for i, p := range m.Parts {
			if codec.Omits(protocolName, m.Role, p) {
				continue
			}
			if err := w.toolPart(p); err != nil {
				return fmt.Errorf(".parts[%d]%w", i, err)
			}
		}
		return nil
	}
	return fmt.Errorf(".role: unknown role %q", m.Role)
}

// next begins an element of an array.
func (w *inputWriter) next() {
	w.dst = wirejson.AppendComma(w.dst)
}

// userMessage writes a user or system message.
func (w *inputWriter) userMessage(m *llm.Message) error {
	w.next()
	role := string(m.Role)
	if r := wirejson.GetString(m.Opaque, "role"); r == "developer" && m.Role == llm.RoleSystem {
		role = r
	}
	w.dst = wirejson.AppendString(append(w.dst, '{'), "role", role)
	w.itemID(m.Opaque, messageID)
	w.dst = itemNames.Append(w.dst, m.Opaque, "role", "id", "type", "content", "status")
	w.dst = wirejson.AppendKey(w.dst, "content")
	if t, ok := soleText(m.Parts); ok {
		w.dst = append(jsonio.AppendString(w.dst, t), '}')
		return nil
	}
	if err := w.content(m.Parts, ".parts", true); err != nil {
		return err
	}
	w.dst = append(w.dst, '}')
	return nil
}

// itemID writes the id of an item, if it has the prefix of its kind (SR-05) and is not in the
// request yet (SR-04, SR-06).
func (w *inputWriter) itemID(opaque json.RawMessage, prefix string) {
	if id := knownID(opaque, prefix); id != "" && !w.seen[id] {
		w.seen[id] = true
		w.dst = wirejson.AppendString(w.dst, "id", id)
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
	if id := wirejson.GetString(opaque, "id"); strings.HasPrefix(id, prefix) {
		return id
	}
	return ""
}

// soleText returns the text if the parts are at most one text.
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

func (w *inputWriter) content(parts []llm.Part, path string, sound bool) error {
	w.dst = append(w.dst, '[')
	for i, p := range parts {
		w.next()
		if err := w.contentPart(p, sound); err != nil {
			return fmt.Errorf("%s[%d]%w", path, i, err)
		}
	}
	w.dst = append(w.dst, ']')
	return nil
}

// contentPart writes a part of a user or tool message.
func (w *inputWriter) contentPart(p llm.Part, sound bool) error {
	switch p := p.(type) {
	case llm.Text:
		w.dst = wirejson.AppendString(wirejson.AppendString(append(w.dst, '{'), "type", "input_text"), "text", p.Text)
		w.dst = append(contentNames.Append(w.dst, p.Opaque, partMembers...), '}')
		return nil
	case llm.Media:
		return w.media(&p, sound)
	case llm.Unknown:
		return w.unknown(p)
	case llm.Reasoning, llm.ToolCall, llm.ToolResult:
	}
	return fmt.Errorf(": %s is not allowed here: use text or media", partName(p))
}

// partMembers are the members of a content part that this package writes.
var partMembers = []string{"type", "text", "refusal", "image_url", "file_url", "file_data", "filename", "input_audio"}

func (w *inputWriter) unknown(p llm.Unknown) error {
	if err := codec.CheckUnknown(protocolName, p); err != nil {
		return fmt.Errorf(": %w", err)
	}
	w.dst = wirejson.AppendValue(w.dst, p.Raw)
	return nil
}

// partName describes a part in an error.
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

// media writes an image, a file or audio.
func (w *inputWriter) media(m *llm.Media, sound bool) error {
	fileID := wirejson.GetString(m.Opaque, "file_id")
	if m.Data == nil && m.URL == "" && fileID == "" {
		return fmt.Errorf(": the media has neither data nor a URL: load the content")
	}
	switch {
	case strings.HasPrefix(m.MediaType, "image/"):
		w.dst = wirejson.AppendString(append(w.dst, '{'), "type", "input_image")
		w.source("image_url", "image_url", m)
	case strings.HasPrefix(m.MediaType, "audio/"):
		if err := w.audio(m, sound); err != nil {
			return err
		}
	default:
		w.dst = wirejson.AppendString(append(w.dst, '{'), "type", "input_file")
		name := m.Name
		if name == "" && m.Data != nil {
			name = fileName(m.MediaType)
		}
		if name != "" {
			w.dst = wirejson.AppendString(w.dst, "filename", name)
		}
		w.source("file_data", "file_url", m)
	}
	w.dst = append(contentNames.Append(w.dst, m.Opaque, partMembers...), '}')
	return nil
}

// source writes the data or URL of media.
func (w *inputWriter) source(dataKey, urlKey string, m *llm.Media) {
	switch {
	case m.Data != nil:
		w.dst = append(wirejson.AppendKey(w.dst, dataKey), `"data:`...)
		quotedType := quoted(m.MediaType)
		w.dst = append(append(w.dst, quotedType[1:len(quotedType)-1]...), ";base64,"...)
		w.dst = append(base64.StdEncoding.AppendEncode(w.dst, m.Data), '"')
	case m.URL != "":
		w.dst = wirejson.AppendString(w.dst, urlKey, m.URL)
	}
}

func (w *inputWriter) audio(m *llm.Media, allowed bool) error {
	for _, s := range audioFormats {
		if s.mediaType == m.MediaType && m.Data != nil && allowed {
			w.dst = append(wirejson.AppendString(append(w.dst, '{'), "type", "input_audio"), `,"input_audio":{"data":"`...)
			w.dst = append(base64.StdEncoding.AppendEncode(w.dst, m.Data), `","format":"`...)
			w.dst = append(append(w.dst, s.format...), `"}`...)
			return nil
		}
	}
	return fmt.Errorf(": the Responses API accepts audio only in user messages, as audio/wav or audio/mpeg data, not %s", m.MediaType)
}

// toolPart writes a part of a tool message.
func (w *inputWriter) toolPart(p llm.Part) error {
	switch p := p.(type) {
	case llm.ToolResult:
		return w.result(&p)
	case llm.Unknown:
		w.next()
		return w.unknown(p)
	case llm.Text, llm.Reasoning, llm.Media, llm.ToolCall:
	}
	return fmt.Errorf(": %s is not allowed in a tool message: use results", partName(p))
}

// result writes the output of a call.
func (w *inputWriter) result(r *llm.ToolResult) error {
	id, err := callID(r.ID)
	if err != nil {
		return err
	}
	w.next()
	kind := kindOutput
	if w.custom[r.ID] || wirejson.GetString(r.Opaque, "type") == kindCustomOutput {
		kind = kindCustomOutput
	}
	w.dst = wirejson.AppendString(append(w.dst, '{'), "type", kind)
	w.itemID(r.Opaque, "")
	w.dst = wirejson.AppendString(w.dst, "call_id", id)
	w.dst = wirejson.AppendKey(w.dst, "output")
	if t, ok := soleText(r.Content); ok {
		w.dst = jsonio.AppendString(w.dst, t)
	} else if err := w.content(r.Content, ".content", false); err != nil {
		return err
	}
	w.dst = append(itemNames.Append(w.dst, r.Opaque, itemMembers...), '}')
	return nil
}

// maxCallID is the length limit of call ids (SR-15).
const maxCallID = 64

// callID returns the id of a call in a request, equal for the call and its result.
func callID(id string) (string, error) {
	if id == "" {
		return "", errors.New(": missing call id: set it on the call and its result")
	}
	return codec.ShortID(id, maxCallID), nil
}

// itemMembers are the members of an item that this package writes.
var itemMembers = []string{"type", "id", "call_id", "name", "arguments", "input", "output", "status", "role", "content"}
