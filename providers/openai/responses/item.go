package responses

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

type item struct {
	kind   string
	id     string
	role   string
	status string
	callID string
	name   string
	args   string // of a call, or the input of a custom one
	// Readers of the values. They have no data if the value is missing or null.
	content, summary, output jsonio.Dec
	opaque                   codec.Members // the members without a field, with the id
	raw                      string        // the whole item
	err                      error         // of content, summary or output
}

// Kinds of items that this package interprets.
const (
	kindMessage      = "message"
	kindReasoning    = "reasoning"
	kindCall         = "function_call"
	kindOutput       = "function_call_output"
	kindCustomCall   = "custom_tool_call"
	kindCustomOutput = "custom_tool_call_output"
)

// Statuses of items and responses. A truncated one is incomplete.
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
)

// readItem reads an item except content, summary and output, because the type may come last.
func readItem(d *jsonio.Dec) (it item) {
	from := d.Offset()
	args := func() { it.args = cmp.Or(codec.Text(d), it.args) }
	codec.ReadObject(d, func(key string) { it.opaque.Add(d, itemNames.Stored(key)) },
		"id", func() {
			from := d.Offset()
			if it.id = codec.String(d); it.id != "" {
				it.opaque.AddRaw("id", d.Since(from))
			}
		},
		"type", &it.kind,
		"status", &it.status,
		"content", &it.content,
		"role", &it.role,
		"arguments", args,
		"call_id", &it.callID,
		"name", &it.name,
		"input", args,
		"summary", &it.summary,
		"output", &it.output)
	it.raw = d.Since(from)
	if it.kind == "" && it.role != "" {
		it.kind = kindMessage
	}
	it.keepOthers()
	return it
}

// keepOthers keeps the values of a call or a result that an item of its kind does not have.
func (it *item) keepOthers() {
	switch it.kind {
	case kindCall, kindCustomCall:
		it.keep("output", it.output)
	case kindOutput, kindCustomOutput:
	default:
		return
	}
	it.keep("content", it.content)
	it.keep("summary", it.summary)
}

func (it *item) keep(key string, value jsonio.Dec) {
	if value.Peek() != 0 {
		it.opaque.AddRaw(key, value.Raw())
	}
}

// elements reads an array of content parts; a value that is missing has none.
func (it *item) elements(d jsonio.Dec) (parts []contentPart) {
	if d.Peek() == 0 {
		return nil
	}
	for range d.Elements() {
		parts = append(parts, readContentPart(&d))
	}
	it.err = cmp.Or(it.err, d.Err())
	return parts
}

var customType = codec.Members{{Key: "type", Raw: `"custom_tool_call"`}}

func (it *item) call() llm.ToolCall {
	opaque := it.opaque
	if it.kind == kindCustomCall {
		opaque = slices.Concat(customType, opaque)
	}
	return llm.ToolCall{ID: it.callID, Name: it.name, Arguments: it.args, Opaque: opaque.Object()}
}

// reasoning returns the item as reasoning. The text is the summary, or else the content, which
// only open models send. Other members are opaque.
func (it *item) reasoning() (out llm.Reasoning) {
	opaque := it.opaque
	for _, m := range []struct {
		key   string
		value jsonio.Dec
	}{{"summary", it.summary}, {"content", it.content}} {
		var texts []string
		for _, p := range it.elements(m.value) {
			texts = append(texts, p.text)
		}
		out.Text = cmp.Or(out.Text, strings.Join(texts, summarySeparator))
		if raw := m.value.Raw(); m.key == "summary" || !isEmptyArray(raw) {
			opaque.AddRaw(m.key, raw)
		}
	}
	out.Opaque = opaque.Object()
	return out
}

func isEmptyArray(raw string) bool { return strings.Trim(raw, "[] \t\r\n") == "" }

const summarySeparator = "\n\n"

var hostedCalls = []string{"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}

// other returns an item of another kind: a call that the provider ran, or an unknown part with
// the whole item.
func (it *item) other() llm.Part {
	raw := codec.Compact(it.raw)
	if !slices.Contains(hostedCalls, it.kind) {
		return markUnknown(llm.Unknown{Kind: it.kind, Raw: raw})
	}
	return llm.ToolCall{
		ID:               it.id,
		Name:             cmp.Or(it.name, strings.TrimSuffix(it.kind, "_call")),
		Arguments:        cmp.Or(it.args, string(codec.Get(raw, "action"))),
		ProviderExecuted: true,
		Opaque:           raw,
	}
}

// markUnknown marks the kind of an unknown part if another protocol would claim it.
func markUnknown(p llm.Part) llm.Part {
	if u, ok := p.(llm.Unknown); ok && codec.Omits(protocolName, llm.RoleAssistant, u) {
		u.Kind = codec.ResponsesMark + u.Kind
		return u
	}
	return p
}

type contentPart struct {
	kind     string
	text     string
	url      string // of an image or a file, as a data URL too
	data     string // base64, or a data URL
	format   string // of audio
	filename string
	opaque   codec.Members
	raw      string
}

func readContentPart(d *jsonio.Dec) (p contentPart) {
	from := d.Offset()
	text := func() { p.text = cmp.Or(codec.String(d), p.text) }
	other := func(key string) {
		raw := d.Raw()
		if !isEmptyArray(raw) || key != "annotations" && key != "logprobs" {
			p.opaque.AddRaw(contentNames.Stored(key), raw)
		}
	}
	codec.ReadObject(d, other,
		"type", &p.kind,
		"text", text,
		"refusal", text,
		"image_url", &p.url,
		"filename", &p.filename,
		"file_data", &p.data,
		"file_url", &p.url,
		"input_audio", func() { codec.Read(d, nil, "data", &p.data, "format", &p.format) })
	p.raw = d.Since(from)
	return p
}

// part returns the content part as an llm.Part, Unknown if no other type represents it.
func (p *contentPart) part() llm.Part {
	switch p.kind {
	case "input_text", "output_text", "text":
		return llm.Text{Text: p.text, Opaque: p.opaque.Object()}
	case "refusal":
		return llm.Text{Text: p.text, Refusal: true, Opaque: p.opaque.Object()}
	case "input_image":
		m := llm.Media{MediaType: "image/*", URL: p.url}
		if p.fill(&m, p.url) {
			return m
		}
	case "input_file":
		m := llm.Media{MediaType: "application/octet-stream", Name: p.filename, URL: p.url}
		if strings.HasSuffix(p.filename, ".pdf") {
			m.MediaType = "application/pdf"
		}
		if p.fill(&m, p.data) {
			if m.Name == fileName(m.MediaType) && m.Data != nil {
				m.Name = ""
			}
			return m
		}
	case "input_audio":
		for _, s := range audioFormats {
			if data, err := base64.StdEncoding.DecodeString(p.data); err == nil && s.format == p.format && p.data != "" {
				return llm.Media{MediaType: s.mediaType, Data: data, Opaque: p.opaque.Object()}
			}
		}
	}
	return llm.Unknown{Kind: p.kind, Raw: codec.Compact(p.raw)}
}

// fill sets the data or URL of m, and reports whether m represents the whole part.
func (p *contentPart) fill(m *llm.Media, data string) bool {
	m.Opaque = p.opaque.Object()
	if !strings.HasPrefix(data, "data:") {
		hasFile := codec.GetString(m.Opaque, "file_id") != ""
		return m.URL != "" && (data == "" || data == m.URL) || data == "" && hasFile
	}
	mediaType, content, ok := codec.CutDataURL(data)
	if !ok || mediaType == "" || p.url != "" && p.url != data {
		return false
	}
	m.MediaType, m.Data, m.URL = mediaType, content, ""
	return strings.HasSuffix(data, ";base64,"+base64.StdEncoding.EncodeToString(content))
}

var audioFormats = []struct{ mediaType, format string }{
	{"audio/wav", "wav"}, {"audio/mpeg", "mp3"}, {"audio/x-wav", "wav"}, {"audio/mp3", "mp3"},
}

// fileName returns a name for a file without one, because the protocol requires it.
func fileName(mediaType string) string {
	if mediaType == "application/pdf" {
		return "file.pdf"
	}
	return "file"
}
