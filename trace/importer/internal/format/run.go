// Package format contains the recording formats whose runs are JSON values: how to
// recognize each, and how to read one run of it. Each format has a file of its own; package
// importer lists them in a table and reads the files.
package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Run is a recorded run; see importer.Run.
type Run struct {
	Name, Case string
	Line       int
	Epoch      int // NoEpoch if unknown
	Cluster    string
	Scores     []Score
	Expected   Expected
	Answer     string
	Messages   []llm.Message
	Meta       map[string]json.RawMessage
}

// Score is a recorded score; see importer.Score.
type Score struct {
	Name  string
	Value float64
	Raw   json.RawMessage
	Err   error
}

// Expected is what a recording expects of a run; see importer.Expected.
type Expected struct {
	Answers, Replies []string
	Calls            []Call
}

// Call is an expected tool call; see importer.Call.
type Call struct {
	Name      string
	Arguments json.RawMessage
	Turn      int
}

// Values for an unknown epoch or turn.
const (
	NoEpoch = -1
	NoTurn  = -1
)

// Members reads an object. It keeps each member in Meta, except those for which own reads
// the value itself and returns true; own may be nil.
func (r *Run) Members(d *jsonio.Dec, own func(key string) bool) {
	for key := range d.Members() {
		if own != nil && own(key) {
			continue
		}
		raw := d.Raw()
		if d.Err() != nil {
			return
		}
		if r.Meta == nil {
			r.Meta = map[string]json.RawMessage{}
		}
		r.Meta[key] = json.RawMessage(raw)
	}
}

// object reads an object, keeps its members in Meta and returns it.
func (r *Run) object(d *jsonio.Dec) json.RawMessage {
	from := *d
	r.Members(d, nil)
	return json.RawMessage(from.Raw())
}

// identify sets the name and the case to the first of the members that is not empty.
func (r *Run) identify(raw json.RawMessage, names ...string) {
	for _, name := range names {
		if id := tree.Scalar(tree.Field(raw, name)); id != "" {
			r.Case, r.Name = id, id
			return
		}
	}
}

// SetName names the run after the members of Meta that identify it, if there are any.
func (r *Run) SetName() {
	task, trial, id := tree.Scalar(r.Meta["task_id"]), tree.Scalar(r.Meta["trial"]), tree.Scalar(r.Meta["id"])
	switch {
	case task != "" && trial != "":
		r.Name = "task-" + task + "/trial-" + trial
	case task != "":
		r.Name = "task-" + task
	case id != "":
		r.Name = id
	}
}

// Describe sets case, epoch and scores from the usual members of Meta.
func (r *Run) Describe() {
	r.Case = cmp.Or(tree.Scalar(r.Meta["task_id"]), tree.Scalar(r.Meta["case"]), tree.Scalar(r.Meta["instance_id"]), tree.Scalar(r.Meta["id"]))
	if r.Epoch = EpochOf(r.Meta["trial"]); r.Epoch == NoEpoch {
		r.Epoch = EpochOf(r.Meta["epoch"])
	}
	for _, name := range []string{"reward", "score"} {
		r.addScore(name, r.Meta[name])
	}
}

// EpochOf returns an integer of 0 or more, or NoEpoch.
func EpochOf(raw json.RawMessage) int {
	if n, err := strconv.Atoi(tree.Scalar(raw)); err == nil && n >= 0 {
		return n
	}
	return NoEpoch
}

func (r *Run) addScore(name string, raw json.RawMessage) {
	if !tree.IsNull(raw) {
		r.Scores = append(r.Scores, ScoreOf(name, raw))
	}
}

// ScoreOf reads a score: a number, a boolean, or a string for either. Strings have their
// meaning in Inspect (value_to_float in inspect_ai/scorer/_metric.py), except that a string
// which Inspect reads as 0 with a warning is an error here.
func ScoreOf(name string, raw json.RawMessage) Score {
	s := Score{Name: name, Raw: raw}
	text := tree.String(raw)
	switch text {
	case "C":
		s.Value = 1
		return s
	case "P":
		s.Value = 0.5
		return s
	case "I", "N":
		return s
	case "NaN": // from Python
		s.Err = errors.New("the score is NaN: it has no value")
		return s
	}
	switch strings.ToLower(text) {
	case "yes", "true":
		s.Value = 1
	case "no", "false":
	default:
		var err error
		s.Value, err = strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(s.Value, 0) || math.IsNaN(s.Value) {
			s.Value, s.Err = 0, errors.New("invalid score: want a number, a boolean, or one of C, I, P and N")
		}
	}
	return s
}

// ExpectedOf reads the expected answer: one value, or a list of acceptable ones.
func ExpectedOf(raw json.RawMessage) (e Expected) {
	if tree.IsNull(raw) {
		return e
	}
	if raw[0] != '[' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	for _, value := range tree.Elements(raw) {
		if text := tree.String(value); text != "" {
			e.Answers = append(e.Answers, text)
		}
	}
	return e
}

// Ask begins the messages with a prompt: a string or a list of messages; nil adds nothing.
func (r *Run) Ask(prompt json.RawMessage) {
	if prompt == nil {
		return
	}
	var reader message.Reader
	d := jsonio.NewDec(jsonio.View(prompt))
	if messages := reader.List(&d); d.Err() == nil {
		r.Messages = messages
		return
	}
	r.Messages = []llm.Message{llm.User(tree.String(prompt))}
}

// Reply sets the final answer, and ends the messages with it unless they end with an
// assistant message. The answer is a string or a list of OpenAI tool calls; nil adds nothing.
func (r *Run) Reply(answer json.RawMessage) {
	if answer == nil {
		return
	}
	r.Answer = tree.String(answer)
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == llm.RoleAssistant {
		return
	}
	if tree.Member(tree.Element(answer, "0"), "function") != nil {
		var reader message.Reader
		d := jsonio.NewDec(jsonio.View(openAIMessage("assistant", nil, nil, answer)))
		if called := reader.Add(nil, &d); called != nil {
			r.Messages = append(r.Messages, called...)
			return
		}
	}
	r.Messages = append(r.Messages, llm.Assistant(llm.Text{Text: r.Answer}))
}

// openAIMessage returns a message in OpenAI's form. Nil members are omitted.
func openAIMessage(role string, content, callID, calls json.RawMessage) json.RawMessage {
	var m tree.Object
	m.Text("role", role)
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{{"content", content}, {"tool_call_id", callID}, {"tool_calls", calls}} {
		if member.value != nil {
			m.Raw(member.name, string(member.value))
		}
	}
	return m.JSON()
}
