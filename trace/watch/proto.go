package watch

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/internal/signed"
)

// plainProto returns opaque data of Gemini in one form. Gemini reads its requests as JSON of
// Protocol Buffers (protobuf.dev, "ProtoJSON Format"): the name of a member is in lower camel
// case or as in the .proto file, bytes are in the standard or the URL alphabet of base64, with or
// without padding, and an empty member is a missing one.
func plainProto(raw json.RawMessage) json.RawMessage {
	var v map[string]any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	if v = plainMessage(v); len(v) == 0 {
		return nil
	}
	text, _ := json.Marshal(v) // it was decoded from JSON
	return text
}

func plainMessage(message map[string]any) map[string]any {
	out := make(map[string]any, len(message))
	for key, v := range message {
		name := jsonval.CamelCase(key)
		switch value := v.(type) {
		case nil:
			continue
		case map[string]any:
			if len(value) == 0 {
				continue
			}
			if name != "args" && name != "response" { // which have the caller's own names
				v = plainMessage(value)
			}
		case string:
			if same, ok := jsonval.CanonicalBase64(value); ok && name == "thoughtSignature" {
				v = same
			}
			if slices.Contains(replacements, value) {
				continue
			}
		}
		out[name] = v
	}
	return out
}

// plainBytes returns opaque data with its signatures and encrypted data in one form of base64: the
// standard alphabet with padding. A client that decodes and encodes them sends the same bytes back.
func plainBytes(raw json.RawMessage) json.RawMessage {
	if !slices.ContainsFunc(signed.Members, func(name string) bool { return bytes.Contains(raw, []byte(name)) }) {
		return raw
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	changed := false
	v = plainValue(v, &changed)
	if !changed {
		return raw
	}
	text, _ := json.Marshal(v) // it was decoded from JSON
	return text
}

func plainValue(v any, changed *bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plainValue(v[i], changed)
		}
	case map[string]any:
		for name, value := range v {
			text, ok := value.(string)
			if !ok || !slices.Contains(signed.Members, name) {
				v[name] = plainValue(value, changed)
				continue
			}
			if same, ok := jsonval.CanonicalBase64(text); ok && same != text {
				v[name], *changed = same, true
			}
		}
	}
	return v
}
