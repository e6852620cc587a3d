package responses

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// item is an item of a request's input or a response's output.
type item struct {
	kind   string
	id     string
	role   string
	status string
	callID string
	name   string
	// The arguments of a call, or the input of a custom one.
	args    string
	content jsonio.Dec // before the value
	summary jsonio.Dec
	output  jsonio.Dec
	has     struct{ args, content, summary, output bool }
	opaque  codec.Members // the members without a field, with the id
	raw     string        // the whole item
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
)

// readItem reads an item. It leaves content, summary and output unread, because the type may be
// the last member.
func readItem(d *jsonio.Dec) (it item) {
	from := d.Offset()
	for key := range d.Members() {
		it.member(d, key)
	}
	it.raw = d.Since(from)
	if it.kind == "" && it.role != "" {
		it.kind = kindMessage
	}
	return it
}

func (it *item) member(d *jsonio.Dec, key string) {
	switch key {
	case "type":
		it.kind = codec.String(d)
	case "role":
		it.role = codec.String(d)
	case "status":
		it.status = codec.String(d)
	case "call_id":
		it.callID = codec.String(d)
	case "name":
		it.name = codec.String(d)
	case "id":
		from := d.Offset()
		if it.id = codec.String(d); it.id != "" {
			it.opaque.AddRaw(key, d.Since(from))
		}
	case "arguments", "input":
		it.args, it.has.args = cmp.Or(codec.Text(d), it.args), true
	case "content":
		it.content, it.has.content = ahead(d)
	case "summary":
		it.summary, it.has.summary = ahead(d)
	case "output":
		it.output, it.has.output = ahead(d)
	default:
		it.opaque.Add(d, itemNames.Stored(key))
	}
}

// ahead skips a value. It returns a reader of it, and whether it is not null.
func ahead(d *jsonio.Dec) (value jsonio.Dec, some bool) {
	value, some = *d, d.Peek() != 'n'
	d.Skip()
	return value, some
}

func (it *item) call() llm.ToolCall {
	c := llm.ToolCall{ID: it.callID, Name: it.name, Arguments: it.args, Opaque: it.opaque.Object()}
	if it.kind == kindCustomCall {
		c.Opaque = joinMembers(codec.Members(`{"type":"custom_tool_call"`), it.opaque)
	}
	return c
}

// reasoning returns the item as reasoning. The text is the summary, or else the content, which
// only open models send. Other members are opaque.
func (it *item) reasoning() (out llm.Reasoning, err error) {
	o := it.opaque
	if it.has.summary {
		if out.Text, err = readSummary(it.summary); err != nil {
			return out, err
		}
		o.Add(&it.summary, "summary")
	}
	if it.has.content {
		text, err := readSummary(it.content)
		if err != nil {
			return out, err
		}
		out.Text = cmp.Or(out.Text, text)
		if raw := it.content.Raw(); !isEmptyArray(raw) {
			o.AddRaw("content", raw)
		}
	}
	out.Opaque = o.Object()
	return out, nil
}

func isEmptyArray(raw string) bool { return strings.Trim(raw, "[] \t\r\n") == "" }

// summarySeparator separates the parts of a summary.
const summarySeparator = "\n\n"

func readSummary(d jsonio.Dec) (string, error) {
	var texts []string
	for range d.Elements() {
		texts = append(texts, readContentPart(&d).text)
	}
	return strings.Join(texts, summarySeparator), d.Err()
}

// hostedCall returns the item as a call that the provider ran, and whether it is one.
func (it *item) hostedCall() (llm.ToolCall, bool) {
	switch it.kind {
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call":
	default:
		return llm.ToolCall{}, false
	}
	c := llm.ToolCall{ID: it.id, Name: it.name, Arguments: it.args, ProviderExecuted: true, Opaque: codec.Compact(it.raw)}
	if c.Name == "" {
		c.Name = strings.TrimSuffix(it.kind, "_call")
	}
	if !it.has.args {
		c.Arguments = string(codec.Get(it.opaque.Object(), "action"))
	}
	return c, true
}

// other returns an item of another kind: a call that the provider ran, or an unknown part with
// the whole item.
func (it *item) other() llm.Part {
	if c, ok := it.hostedCall(); ok {
		return c
	}
	return markUnknown(llm.Unknown{Kind: it.kind, Raw: codec.Compact(it.raw)})
}

// markUnknown marks the kind of an unknown part if another protocol would claim it.
func markUnknown(p llm.Part) llm.Part {
	if u, ok := p.(llm.Unknown); ok && codec.Omits(protocolName, llm.RoleAssistant, u) {
		u.Kind = codec.ResponsesMark + u.Kind
		return u
	}
	return p
}

// contentPart is a part of the content of a message or an output.
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
	for key := range d.Members() {
		switch key {
		case "type":
			p.kind = codec.String(d)
		case "text", "refusal":
			p.text = cmp.Or(codec.String(d), p.text)
		case "image_url", "file_url":
			p.url = codec.String(d)
		case "file_data":
			p.data = codec.String(d)
		case "filename":
			p.filename = codec.String(d)
		case "input_audio":
			codec.Read(d, nil, "data", &p.data, "format", &p.format)
		case "annotations", "logprobs":
			if raw := d.Raw(); !isEmptyArray(raw) {
				p.opaque.AddRaw(key, raw)
			}
		default:
			p.opaque.Add(d, contentNames.Stored(key))
		}
	}
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
		return m.URL != "" && (data == "" || data == m.URL) || data == "" && codec.GetString(m.Opaque, "file_id") != ""
	}
	head, body, ok := strings.Cut(strings.TrimPrefix(data, "data:"), ";base64,")
	b, err := base64.StdEncoding.DecodeString(body)
	if !ok || err != nil || head == "" || p.url != "" && p.url != data {
		return false
	}
	m.MediaType, m.Data, m.URL = head, b, ""
	return base64.StdEncoding.EncodeToString(b) == body
}

// audioFormats are the audio types of the protocol.
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
