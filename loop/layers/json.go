package layers

import (
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/llm"
)

// layerJSON is the JSON form of a layer. Content is a string if the layer is one plain text,
// otherwise the list of its parts.
type layerJSON[T any] struct {
	Name        string         `json:"name"`
	Content     T              `json:"content"`
	Priority    int            `json:"priority"`
	Tags        []string       `json:"tags"`
	Owner       string         `json:"owner"`
	MergeParent bool           `json:"mergeParent,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (l Layer) MarshalJSON() ([]byte, error) {
	content := any(json.RawMessage(llm.AppendParts(nil, l.Content)))
	if len(l.Content) == 1 {
		if t, plain := l.Content[0].(llm.Text); plain && !t.Refusal && t.Opaque == nil {
			content = t.Text
		}
	}
	return json.Marshal(layerJSON[any]{l.Name, content, l.Priority, l.Tags, l.Owner, l.MergeParent, l.Metadata})
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Layer) UnmarshalJSON(b []byte) error {
	var in layerJSON[json.RawMessage]
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("layers: reading a layer: %w", err)
	}
	out := Layer{in.Name, nil, in.Priority, in.Tags, in.Owner, in.MergeParent, in.Metadata}
	var text string
	var parts []json.RawMessage
	switch {
	case json.Unmarshal(in.Content, &text) == nil:
		out.Content = textParts(text)
	case json.Unmarshal(in.Content, &parts) != nil:
		return fmt.Errorf("layers: reading the layer %q: its content is neither a string nor a list of parts", in.Name)
	}
	for _, raw := range parts {
		p, err := llm.UnmarshalPart(raw)
		if err != nil {
			return fmt.Errorf("layers: reading the layer %q: %w", in.Name, err)
		}
		out.Content = append(out.Content, p)
	}
	*l = out
	return nil
}
