// Package stored completes requests of Responses that refer to earlier responses, which the
// provider stores.
package stored

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
)

// Responses are the responses of a recording. Its zero value is ready. It is for use by one
// goroutine.
type Responses struct {
	conversations map[string][]llm.Message // up to a response, by its id
	parts         map[string]llm.Part      // of responses, by id
}

// Add records the response to these messages, which it may keep.
func (r *Responses) Add(id string, messages []llm.Message, response llm.Message) {
	if r.conversations == nil {
		r.conversations, r.parts = map[string][]llm.Message{}, map[string]llm.Part{}
	}
	if id != "" {
		r.conversations[id] = append(messages, response)
	}
	for _, part := range response.Parts {
		var opaque struct{ ID string }
		if json.Unmarshal(llm.PartOpaque(part), &opaque) == nil && opaque.ID != "" {
			r.parts[opaque.ID] = part
		}
	}
}

// Complete returns a copy of a request with the messages and items that it refers to. It returns
// an error if one of them was not recorded.
func (r *Responses) Complete(req *llm.Request) (*llm.Request, error) {
	out := *req
	var before string
	_ = json.Unmarshal(req.Extra["previous_response_id"], &before) // an invalid value is no reference
	messages, known := r.conversations[before]
	isSet := func(name string) bool { return len(req.Extra[name]) > 0 && string(req.Extra[name]) != "null" }
	switch {
	case before != "" && !known:
		return nil, fmt.Errorf("continues the response %q, which is not in the recording", before)
	case isSet("conversation"):
		return nil, errors.New("continues a conversation that the provider stores")
	}
	out.Messages = slices.Clone(messages)
	for _, m := range req.Messages {
		m.Parts = slices.Clone(m.Parts)
		for i, part := range m.Parts {
			u, ok := part.(llm.Unknown)
			if !ok || u.Kind != "item_reference" {
				continue
			}
			var item struct{ ID string }
			_ = json.Unmarshal(u.Raw, &item) // the codec has decoded it
			p, ok := r.parts[item.ID]
			if !ok {
				return nil, fmt.Errorf("refers to the item %q, which is not in the recording", item.ID)
			}
			m.Parts[i] = p
		}
		out.Messages = append(out.Messages, m)
	}
	return &out, nil
}
