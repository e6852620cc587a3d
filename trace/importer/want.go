package importer

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Want is what should come of a run, as its recording says it. The zero Want says
// nothing. In JSON it has what it says alone.
type Expected struct {
	// Answers are the final texts of which any is right; none of them is empty. A value
	// that is no text stands as its JSON.
	Answers []string `json:"answers,omitempty"`
	// Replies are what should be answered to each message of the user, where the recording
	// tells it turn by turn; "" where it tells nothing of one.
	Replies []string `json:"replies,omitempty"`
	// Calls are the tool calls that should be made, in order: nil if nothing is said of
	// calls, empty if there should be none.
	Calls []Call `json:"calls,omitzero"`
}

// Call is a tool call that should be made.
type Call struct {
	Name string
	// Args is a JSON object; nil if nothing is said of arguments.
	Arguments json.RawMessage
	// Turn is the message of the user, counted from 0, in answer to which it should be
	// made; NoTurn if that is not said.
	Turn int
}

// callJSON is a Call in JSON, which leaves out what is not said.
type callJSON struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Turn *int            `json:"turn,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c Call) MarshalJSON() ([]byte, error) {
	form := callJSON{c.Name, c.Arguments, &c.Turn}
	if c.Turn == NoTurn {
		form.Turn = nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // which is for who writes it all to say
	err := enc.Encode(form)
	return out.Bytes(), err
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Call) UnmarshalJSON(text []byte) error {
	turn := NoTurn
	form := callJSON{Turn: &turn}
	err := json.Unmarshal(text, &form)
	if form.Turn != nil {
		turn = *form.Turn
	}
	*c = Call{form.Name, form.Args, turn}
	return err
}

// NoTurn is the turn of a call of which it is not said.
const NoTurn = -1

// wanted reads what should be answered: one value, or a list of those of which any is
// right.
func wanted(raw json.RawMessage) (w Expected) {
	if isNull(raw) {
		return w
	}
	if raw[0] != '[' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	for _, value := range elementsOf(raw) {
		if text := asText(value); text != "" {
			w.Answers = append(w.Answers, text)
		}
	}
	return w
}

// asText returns a text, or the JSON of what is none.
func asText(raw json.RawMessage) string {
	if text, ok := textOf(raw); ok {
		return text
	}
	return string(raw)
}

// actions returns the calls that a task of tau-bench should come to; info is what it says
// of a run.
func actions(info json.RawMessage) (calls []Call) {
	list := memberOf(info, "task", "actions")
	if !isNull(list) {
		calls = []Call{}
	}
	for _, action := range elementsOf(list) {
		calls = append(calls, Call{scalar(memberOf(action, "name")), memberOf(action, "kwargs"), NoTurn})
	}
	return calls
}
