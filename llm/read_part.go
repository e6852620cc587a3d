package llm

import (
	"encoding/base64"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
)

// maxContent is the maximum depth of tool results in tool results. No tool returns nested results;
// the limit bounds the time for malicious input.
const maxContent = 100

// ReadParts reads an array of parts; null means none.
func ReadParts(d *jsonio.Dec) []Part { return readParts(d, 0) }

// readParts reads an array of parts that is nested in depth tool results.
func readParts(d *jsonio.Dec, depth int) []Part {
	if d.Null() {
		return nil
	}
	var buf [8]Part // most messages have fewer
	parts := buf[:0]
	for range d.Elements() {
		if p := readPart(d, depth); p != nil {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return slices.Clone(parts)
}

// ReadPart reads a part; one of unknown type becomes Unknown.
func ReadPart(d *jsonio.Dec) Part { return readPart(d, 0) }

func readPart(d *jsonio.Dec, depth int) Part {
	from := d.Offset()
	kind, first := readType(d)
	if d.Err() != nil {
		return nil
	}
	switch kind {
	case "text":
		return readText(d, first)
	case "reasoning":
		return readReasoning(d, first)
	case "media":
		return readMedia(d, first)
	case "tool_call":
		return readToolCall(d, first)
	case "tool_result":
		return readToolResult(d, first, depth)
	}
	return readUnknown(d, first, kind, from)
}

// readType begins an object and returns the value of its member type, which may be at any
// position. Pass first to [jsonio.Dec.Key]. Key returns the member type again unless it is the
// first member.
func readType(d *jsonio.Dec) (kind string, first bool) {
	ahead := *d
	first = true
	if d.Object() && d.Member("type", &first) {
		return d.String(), first
	}
	for key := range ahead.Members() {
		if key == "type" {
			return ahead.String(), true
		}
		ahead.Skip()
	}
	return "", true
}

func readUnknown(d *jsonio.Dec, first bool, kind string, from int) Unknown {
	for range d.MembersAfter(first) {
		d.Skip()
	}
	return Unknown{Kind: kind, Raw: jsonio.AppendRaw(nil, []byte(d.Since(from)))}
}

func readText(d *jsonio.Dec, first bool) (p Text) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "text", "text_b64":
			p.Text = d.Text(key)
		case "refusal":
			p.Refusal = d.Bool()
		case "opaque":
			p.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return p
}

func readReasoning(d *jsonio.Dec, first bool) (p Reasoning) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "text", "text_b64":
			p.Text = d.Text(key)
		case "opaque":
			p.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return p
}

func readMedia(d *jsonio.Dec, first bool) (p Media) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "media_type", "media_type_b64":
			p.MediaType = d.Text(key)
		case "name", "name_b64":
			p.Name = d.Text(key)
		case "data":
			p.Data = readData(d)
		case "url", "url_b64":
			p.URL = d.Text(key)
		case "digest", "digest_b64":
			p.Digest = d.Text(key)
		case "size":
			p.Size = d.Int()
		case "opaque":
			p.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return p
}

func readData(d *jsonio.Dec) []byte {
	b, err := base64.StdEncoding.DecodeString(d.String())
	if err != nil {
		d.Fail("not base64: data")
		return nil
	}
	return b
}

func readToolCall(d *jsonio.Dec, first bool) (p ToolCall) {
	for key := range d.MembersAfter(first) {
		switch key = v1Call.Name(d, key); key {
		case "id", "id_b64":
			p.ID = d.Text(key)
		case "name", "name_b64":
			p.Name = d.Text(key)
		case "arguments", "arguments_b64":
			p.Arguments = d.Text(key)
		case "id_generated":
			p.IDGenerated = d.Bool()
		case "provider_id", "provider_id_b64":
			p.ProviderID = d.Text(key)
		case "provider_executed":
			p.ProviderExecuted = d.Bool()
		case "opaque":
			p.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return p
}

func readToolResult(d *jsonio.Dec, first bool, depth int) (p ToolResult) {
	for key := range d.MembersAfter(first) {
		switch key = v1Result.Name(d, key); key {
		case "tool_call_id", "tool_call_id_b64":
			p.ID = d.Text(key)
		case "name", "name_b64":
			p.Name = d.Text(key)
		case "content":
			if depth == maxContent {
				d.Fail("tool results are nested in each other more than 100 deep")
				return p
			}
			p.Content = readParts(d, depth+1)
		case "is_error":
			p.IsError = d.Bool()
		case "opaque":
			p.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return p
}
