package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// DecodeRequest implements [protocol.Protocol]. It also reads requests that the API would
// reject. It normalizes them:
//
//   - A system prompt of one plain block becomes Request.System. Of other prompts, System
//     contains the texts, separated by empty lines, and Extra the blocks.
//   - A content that is a string becomes one text. Results become messages with [llm.RoleTool]
//     and the names of their calls, separate from other blocks.
//   - Extra contains tools and tool choices that Request cannot represent.
//   - A plain tool choice "auto" is omitted.
//   - Null members of blocks, empty citations and direct callers are omitted.
//   - Media at a URL are image/* or application/pdf.
//   - A container is in Extra.
func (Messages) DecodeRequest(_ string, raw []byte) (*llm.Request, error) {
	if !jsonio.ValidUTF8(raw) {
		return nil, errors.New("the request body is not UTF-8")
	}
	d := jsonio.NewDec(string(raw))
	req := &llm.Request{ResponseMode: llm.NonStreaming}
	if d.Object() {
		for key := range d.MembersAfter(true) {
			readMember(&d, req, key)
		}
	}
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("the request body: %w", err)
	}
	return req, nil
}

func readMember(d *jsonio.Dec, req *llm.Request, key string) {
	s := &req.Settings
	switch key {
	case "model":
		req.Model = optionalString(d)
	case "messages":
		req.Messages = readMessages(d)
	case "max_tokens":
		s.MaxTokens = int(readInt(d))
	case "temperature":
		s.Temperature = readFloat(d)
	case "top_p":
		s.TopP = readFloat(d)
	case "stop_sequences":
		s.StopSequences = readStop(d)
	case "stream":
		if !d.Null() && d.Bool() {
			req.ResponseMode = llm.Streaming
		}
	case "system":
		keepWhole(d, req, key, readSystem)
	case "tools":
		keepWhole(d, req, key, readTools)
	case "tool_choice":
		keepWhole(d, req, key, readToolChoice)
	case "output_config":
		keepWhole(d, req, key, readOutputConfig)
	default:
		keepWhole(d, req, key, func(d *jsonio.Dec, _ *llm.Request) bool { d.Skip(); return false })
	}
}

// keepWhole reads a member. If read returns false, Extra keeps the member.
func keepWhole(d *jsonio.Dec, req *llm.Request, key string, read func(*jsonio.Dec, *llm.Request) (whole bool)) {
	from := d.Offset()
	if read(d, req) || d.Err() != nil {
		return
	}
	if req.Extra == nil {
		req.Extra = map[string]json.RawMessage{}
	}
	req.Extra[key] = jsonio.AppendRaw(nil, []byte(d.Since(from)))
}

func readInt(d *jsonio.Dec) int64 {
	if d.Null() {
		return 0
	}
	return d.Int()
}

func readFloat(d *jsonio.Dec) *float64 {
	if d.Null() {
		return nil
	}
	return new(d.Float())
}

func readStop(d *jsonio.Dec) (words []string) {
	if d.Null() || !d.Array() {
		return nil
	}
	for first := true; d.More(&first); {
		words = append(words, d.String())
	}
	return words
}

func readSystem(d *jsonio.Dec, req *llm.Request) (whole bool) {
	if d.Peek() == '"' || d.Peek() == 'n' {
		req.System = optionalString(d)
		return true
	}
	blocks := readContent(d, false)
	whole = len(blocks) < 2
	for i, b := range blocks {
		t, ok := b.(llm.Text)
		whole = whole && ok && t.Opaque == nil
		if i > 0 {
			req.System += "\n\n"
		}
		req.System += t.Text
	}
	return whole
}
