// Package format contains the recording formats whose runs are JSON values: how to
// recognize each, and how to read one run of it. Each format has a file of its own; package
// importer lists them in a table and reads the files.
package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/body"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Run is a recorded run; see importer.Run.
type Run struct {
	Name, Case string
	Protocol   string
	Line       int
	Epoch      int // NoEpoch if unknown
	Cluster    string
	Scores     []Score
	Expected   Expected
	Answer     string
	Messages   []llm.Message
	Sent       bool // the messages are those of a request to a model
	Meta       map[string]json.RawMessage
	Head       map[string]json.RawMessage // of the recording; it must not be changed
	// Unknown are the parts that were not understood, except those that the messages show.
	Unknown []Unknown
	// Failed is why the rest of the run cannot be read; nil if all was.
	Failed error
	// Gap is 1 and the number of messages before the first one that may be missing; 0 if none is.
	Gap int
	// IsResponse is true if the last message of the assistant is a whole response whose calls were looked at.
	IsResponse bool
	// More are further runs of the same JSON value.
	More []Run
	// Record adds the record that the JSON value is to its run; see [Records]. The value is then no run.
	Record func() []Run

	reader *message.Reader // of the prompt
	others []string        // members of Meta that may have messages or calls
}

// Unknown is a part of a recorded run that was not understood.
type Unknown struct {
	Line int    // 0 means the line of the run
	Path string // of the value within the run; may be empty
	Err  error
}

// ReportUnknown adds a part that was not understood, at a path within the run.
func (r *Run) ReportUnknown(path, format string, args ...any) {
	r.Unknown = append(r.Unknown, Unknown{Path: path, Err: fmt.Errorf(format, args...)})
}

// Objects yields the elements of a list that are objects, with their indices. It reports the others and, unless it is
// empty, a value that is no list. The value has this path within the run.
func (r *Run) Objects(path string, list json.RawMessage) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		if !message.IsEmpty(list) && !isArray(list) {
			r.ReportUnknown(path, "expected a list of objects")
		}
		for n, element := range tree.Elements(list) {
			if !isObject(element) {
				r.ReportUnknown(path+"["+strconv.Itoa(n)+"]", "expected an object")
			} else if !yield(n, element) {
				return
			}
		}
	}
}

// reportNotObject reports a value, at a path within the run, that is neither an object nor empty.
func (r *Run) reportNotObject(path string, value json.RawMessage) {
	if !message.IsEmpty(value) && !isObject(value) {
		r.ReportUnknown(path, "expected an object")
	}
}

// reportGap reports that elements are missing before the one at a path within the run: its number, the member with this
// name, does not follow the last one. It returns the number; -1 if there is none.
func (r *Run) reportGap(path, name string, element json.RawMessage, last int64) int64 {
	number := tree.Member(element, name)
	if n := tree.Count(number); n > 0 && last >= 0 && n > last+1 {
		r.ReportUnknown(path, "the %s is %d after %d: what was between is missing", name, n, last)
	}
	if _, err := strconv.ParseInt(string(number), 10, 64); err != nil {
		return -1
	}
	return tree.Count(number)
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

// Members reads an object. It keeps the members in Meta, except those with the names, whose
// values read reads. It reports whether there was one. Two members with one name are an error: readers of
// JSON take the first, the last or both.
func (r *Run) Members(d *jsonio.Dec, read func(), names ...string) (found bool) {
	var seen keys
	for key := range d.Members() {
		if !seen.add(key) {
			d.Fail("the object has two members " + strconv.Quote(key))
			return found
		}
		if slices.Contains(names, key) {
			found = true
			read()
			continue
		}
		raw := d.Raw()
		if d.Err() != nil {
			return found
		}
		r.SetMeta(key, jsonio.Bytes(raw))
	}
	return found
}

// keys are names of members: few in an array, which is faster to search, and more in a map.
type keys struct {
	few  [16]string
	n    int
	more map[string]bool
}

// add reports whether the name is a new one.
func (k *keys) add(name string) bool {
	if k.more[name] || slices.Contains(k.few[:k.n], name) {
		return false
	}
	if k.n < len(k.few) {
		k.few[k.n] = name
		k.n++
		return true
	}
	if k.more == nil {
		k.more = map[string]bool{}
	}
	k.more[name] = true
	return true
}

// object reads an object, keeps its members in Meta and returns it.
func (r *Run) object(d *jsonio.Dec) json.RawMessage {
	from := *d
	r.Members(d, nil)
	return jsonio.Bytes(from.Raw())
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
	task, trial := r.meta("task_id"), r.meta("trial")
	switch {
	case task == "":
		r.Name = cmp.Or(r.meta("id"), r.Name)
	case trial == "":
		r.Name = "task-" + task
	default:
		r.Name = "task-" + task + "/trial-" + trial
	}
}

// Describe sets case, epoch and scores from the usual members of Meta.
func (r *Run) Describe() {
	r.SetCase()
	r.SetScores()
}

// SetScores adds the scores of the usual members of Meta.
func (r *Run) SetScores() {
	for _, name := range []string{"reward", "score"} {
		r.addScore(name, r.Meta[name])
	}
}

// SetCase sets case and epoch from the usual members of Meta.
func (r *Run) SetCase() {
	r.Case = cmp.Or(r.meta("task_id"), r.meta("case"), r.meta("instance_id"), r.meta("id"))
	if r.Epoch = EpochOf(r.Meta["trial"]); r.Epoch == NoEpoch {
		r.Epoch = EpochOf(r.Meta["epoch"])
	}
}

func (r *Run) meta(name string) string { return tree.Scalar(r.Meta[name]) }

// EpochOf returns an integer of 0 or more, or NoEpoch.
func EpochOf(raw json.RawMessage) int {
	if raw == nil {
		return NoEpoch
	}
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

// Strings that are scores: letters, and words in any case.
var (
	scoreLetters = map[string]float64{"C": 1, "P": 0.5, "I": 0, "N": 0}
	scoreWords   = map[string]float64{"yes": 1, "true": 1, "no": 0, "false": 0}
)

// ScoreOf reads a score: a number, a boolean, or a string for either. Strings have their
// meaning in Inspect (value_to_float in inspect_ai/scorer/_metric.py), except that a string
// which Inspect reads as 0 with a warning is an error here.
func ScoreOf(name string, raw json.RawMessage) Score {
	s := Score{Name: name, Raw: raw}
	if len(raw) > 0 && strings.IndexByte("-0123456789", raw[0]) >= 0 {
		s.setNumber(jsonio.View(raw))
		return s
	}
	text := tree.String(raw)
	if text == "NaN" { // from Python
		s.Err = errors.New("the score is NaN: it has no value")
		return s
	}
	value, ok := scoreLetters[text]
	if !ok {
		value, ok = scoreWords[strings.ToLower(text)]
	}
	if s.Value = value; !ok {
		s.setNumber(text)
	}
	return s
}

func (s *Score) setNumber(text string) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		value, s.Err = 0, errors.New("invalid score: want a number, a boolean, or one of C, I, P and N")
	}
	s.Value = value
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

// Ask begins the messages with a prompt: a string, a list of messages, or the body of a request; nil
// adds nothing.
func (r *Run) Ask(prompt json.RawMessage) {
	if prompt = decode("", prompt); prompt == nil {
		return
	}
	if prompt[0] == '{' {
		if list := tree.Member(prompt, "messages"); list != nil {
			prompt = list
		} else if req, err := body.Request(prompt); err != nil {
			r.ReportUnknown("", "the prompt is a request that cannot be read: %w", err)
		} else if req != nil {
			r.setRequest(req, prompt)
			return
		}
	}
	if prompt[0] != '"' {
		r.reader = new(message.Reader)
		d := jsonio.NewDec(jsonio.View(prompt))
		if messages := r.reader.List(&d); d.Err() == nil {
			r.Messages, r.Protocol = messages, r.reader.Protocol
			return
		}
		r.reader = nil
	}
	r.Messages = append(slices.Grow(r.Messages, 2), llm.User(tree.String(prompt))) // Reply adds another
}

// Reply sets the final answer, and ends the messages with it unless they end with an
// assistant message. The answer is a string, a list of messages or items, a message, the body of a
// response, or a list of OpenAI tool calls; nil adds nothing.
func (r *Run) Reply(answer json.RawMessage) {
	if answer == nil || r.replyMessages(answer) {
		return
	}
	r.Answer = tree.String(answer)
	if r.isAnswered() && !r.awaitsResults() {
		return
	}
	if tree.Member(tree.Element(answer, "0"), "function") != nil {
		var reader message.Reader
		d := jsonio.NewDec(jsonio.View(message.OpenAI("assistant", nil, nil, answer)))
		if called := reader.Add(nil, &d); called != nil {
			r.Messages = append(r.Messages, called...)
			return
		}
	}
	r.Messages, r.IsResponse = append(r.Messages, llm.Assistant(llm.Text{Text: r.Answer})), true
}

// awaitsResults reports whether the last message has calls without text, so that an answer with text is another one.
func (r *Run) awaitsResults() bool {
	last := r.Messages[len(r.Messages)-1]
	return r.Answer != "" && r.Answer[0] != '[' && r.Answer[0] != '{' && last.Text() == "" && len(last.Calls()) > 0
}

func (r *Run) isAnswered() bool {
	n := len(r.Messages)
	return n > 0 && r.Messages[n-1].Role == llm.RoleAssistant
}

// replyMessages is Reply for an answer that has messages. It returns false for another one.
func (r *Run) replyMessages(answer json.RawMessage) bool {
	var messages []llm.Message
	first := tree.Element(answer, "0")
	isBody := false
	var err error
	switch {
	case answer[0] == '{' && isMessage(answer):
		answer = slices.Concat([]byte("["), answer, []byte("]"))
		fallthrough
	case answer[0] == '[' && isMessage(first):
		if r.reader == nil {
			r.reader = new(message.Reader)
		}
		d := jsonio.NewDec(jsonio.View(answer))
		messages = r.reader.List(&d)
		r.Protocol = cmp.Or(r.Protocol, r.reader.Protocol)
		err = d.Err()
	case answer[0] == '{':
		var response *llm.Response
		if response, err = body.Response(answer); response == nil && err == nil {
			return false
		}
		if err == nil {
			for _, what := range body.Unread(body.Name(answer), answer, response) {
				r.ReportUnknown("", "%s", what)
			}
			messages, isBody = []llm.Message{response.Message()}, true
		}
	default:
		return false
	}
	if err != nil {
		r.ReportUnknown("", "the answer has messages that cannot be read: %w", err)
		return false
	}
	r.Answer = ""
	if n := len(messages); n > 0 && messages[n-1].Role == llm.RoleAssistant {
		r.Answer = messages[n-1].Text()
	}
	if !r.isAnswered() {
		r.Messages, r.IsResponse = append(r.Messages, messages...), isBody
		return true
	}
	if calls, known := callsOf(messages), callsOf(r.Messages); slices.ContainsFunc(calls, func(id string) bool { return !slices.Contains(known, id) }) {
		r.ReportUnknown("", "the prompt ends with a response, and the calls of the answer are not among its messages")
	}
	return true
}

// isMessage reports whether an object is a message or an item of Responses.
func isMessage(object json.RawMessage) bool {
	if len(object) == 0 || object[0] != '{' {
		return false
	}
	kind := tree.Scalar(object, "type")
	return tree.Scalar(object, "role") != "" && tree.First(object, "content", "tool_calls", "function_call", "parts") != nil && tree.Member(object, "stop_reason") == nil ||
		message.IsItem(kind)
}

func callsOf(messages []llm.Message) (ids []string) {
	for _, m := range messages {
		for _, c := range m.Calls() {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
