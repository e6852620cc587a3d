package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

const (
	// CaseEvent is the name of the custom event of a trace with the case metadata of a run:
	// its case, epoch and cluster, and what is expected of it.
	CaseEvent = "looptape.about"
	// NoEpoch is the epoch of a run whose recording does not have one.
	NoEpoch = format.NoEpoch
	// NoTurn is the turn of an expected call whose recording does not have one.
	NoTurn = format.NoTurn
)

// Run is a recorded run.
type Run struct {
	// Name is the name that the recording gives (task-3/trial-1), or a number (run-7).
	Name string
	Line int // where the run begins
	// Protocol is the name of the wire protocol of the messages; empty if the recording does
	// not show it.
	Protocol string
	// Case is the task of the run, and Epoch the number of the run among those of its case.
	// They are empty and NoEpoch if unknown. A trace has them in a [CaseEvent].
	Case  string
	Epoch int
	// Cluster is shared by related cases; see [Mapping].
	Cluster string
	// Scores are the scores that the recording has.
	Scores []Score
	// Expected is what the recording expects of the run.
	Expected Expected
	// Answer is the final answer that the recording names; empty if it names none.
	Answer string
	// Messages is the whole conversation. Calls of the old function_call form, which has no
	// ids, have generated ones.
	Messages []llm.Message
	// Sent is true if the messages are the whole body of a request to a model.
	Sent bool
	// Response is true if the last message of the assistant is a whole response.
	Response bool
	// Events are the events of a trace, which has no Messages.
	Events []trace.Event
	// Meta has the other members of the recorded run as JSON (task_id, reward, model …); nil
	// if there are none.
	Meta map[string]json.RawMessage
	// Head has the data of the recording about all runs before the first one, by path; nil if
	// there is none. That of the last run also has the data after it. Runs share it: it must
	// not be changed.
	Head map[string]json.RawMessage
	// Unknown are the parts of the run that were not understood; nil if there are none. The
	// messages have them unchanged, as llm.Unknown or as opaque data, or Meta has them.
	Unknown []*Error
	// Partial is true if the rest of the run cannot be read.
	Partial bool
	// Gap is 1 more than the number of messages before the first place at which messages may be
	// missing, because a record could not be read or understood; 0 means that none are missing.
	Gap int
}

// Checkable returns the messages before the [Run.Gap]. After it, a result may lack its call.
func (r *Run) Checkable() []llm.Message {
	if r.Gap == 0 {
		return r.Messages
	}
	return r.Messages[:r.Gap-1]
}

// Score is a score that a recording has for a run.
type Score struct {
	Name  string  // of the metric or the scorer: reward, match
	Value float64 // 1 for true and 0 for false
	// Raw is the recorded value, as JSON.
	Raw json.RawMessage
	// Err is the reason why the score has no Value; nil if it has one.
	Err error
}

// Expected is what a recording expects of a run. The zero value expects nothing. Its JSON
// form omits what is unknown.
type Expected struct {
	// Answers are the acceptable final answers, none of them empty. A value that is not a
	// string is its JSON.
	Answers []string `json:"answers,omitempty"`
	// Replies are the expected replies to each message of the user; empty if unknown.
	Replies []string `json:"replies,omitempty"`
	// Calls are the expected tool calls, in order: nil if unknown, empty if none is expected.
	Calls []Call `json:"calls,omitzero"`
	// Criteria are those for a model that grades the run, in addition to those for all runs.
	Criteria string `json:"criteria,omitempty"`
	// State is the expected final state, as JSON; nil if unknown.
	State json.RawMessage `json:"state,omitempty"`
}

// Call is an expected tool call.
type Call struct {
	Name string
	// Arguments is a JSON object; nil if unknown.
	Arguments json.RawMessage
	// Turn is the number of the user message after which the call is expected, from 0;
	// NoTurn if unknown.
	Turn int
}

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
	return jsonval.Line(form)
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

// set takes the values of a run that package format has read.
func (r *Run) set(f *format.Run) {
	r.Name, r.Case, r.Line, r.Epoch, r.Cluster, r.Answer = f.Name, f.Case, f.Line, f.Epoch, f.Cluster, f.Answer
	r.Messages, r.Meta, r.Gap, r.Protocol, r.Sent = f.Messages, f.Meta, f.Gap, f.Protocol, f.Sent && f.Gap == 0 && !r.Partial
	r.Response = f.IsResponse
	r.Expected.Answers, r.Expected.Replies = f.Expected.Answers, f.Expected.Replies
	if f.Expected.Calls != nil {
		r.Expected.Calls = make([]Call, len(f.Expected.Calls))
	}
	for i, c := range f.Expected.Calls {
		r.Expected.Calls[i] = Call(c)
	}
	if f.Scores != nil {
		r.Scores = make([]Score, len(f.Scores))
	}
	for i, s := range f.Scores {
		r.Scores[i] = Score(s)
	}
}

// Parent returns the call that started the run; nil if unknown.
func (r *Run) Parent() *trace.Parent {
	if len(r.Events) == 0 {
		return nil
	}
	start, _ := r.Events[0].Body.(trace.RunStart)
	return start.Parent
}

type caseMetadata struct {
	Case    string    `json:"case,omitempty"`
	Epoch   *int      `json:"epoch,omitempty"` // nil if unknown
	Cluster string    `json:"cluster,omitempty"`
	Want    *Expected `json:"want,omitempty"` // nil if nothing is expected
}

// About returns the [CaseEvent] of the run, for another trace of the same case.
func (r *Run) About() trace.Custom {
	m := caseMetadata{Case: r.Case, Cluster: r.Cluster}
	if r.Epoch != NoEpoch {
		m.Epoch = &r.Epoch
	}
	if !reflect.ValueOf(r.Expected).IsZero() {
		m.Want = &r.Expected
	}
	data, _ := json.Marshal(m) // strings, numbers, and JSON that was read
	return trace.Custom{Name: CaseEvent, Data: data}
}

// setCase reads a [CaseEvent]. It ignores other and invalid events.
func (r *Run) setCase(ev trace.Custom) {
	var m caseMetadata
	if ev.Name != CaseEvent || json.Unmarshal(ev.Data, &m) != nil {
		return
	}
	r.Case, r.Cluster = m.Case, m.Cluster
	if m.Epoch != nil && *m.Epoch >= 0 {
		r.Epoch = *m.Epoch
	}
	if m.Want != nil {
		r.Expected = *m.Want
	}
}

// Name sets the case, the epoch and the cluster of a run that was not read with the mapping.
// The pointers lead into [Run.Meta], or for a trace into the data of its custom events by
// name: /task/id is the member id of the last event task. An empty pointer and a nil mapping
// change nothing. Name returns an error, and the run is not usable, if a pointer is invalid,
// if the run has no value there, or if the epoch is not an integer of 0 or more.
func (m *Mapping) Name(run *Run) error {
	if m == nil {
		return nil
	}
	r, err := newRows(&Mapping{Case: m.Case, Epoch: m.Epoch, Cluster: m.Cluster})
	if err != nil {
		return err
	}
	if err := r.name(run.metadata(), &run.Case, &run.Cluster, &run.Epoch); err != nil {
		return err
	}
	for _, p := range r.all {
		switch {
		case p.Found():
		case len(run.Events) > 0:
			return fmt.Errorf("the run %q has no %s at %s: for a trace, begin the pointer with the name of a custom event", run.Name, p.What, p.Text)
		default:
			return fmt.Errorf("the run %q has no %s at %s", run.Name, p.What, p.Text)
		}
	}
	return nil
}

// metadata returns Meta, or for a trace the data of its custom events by name.
func (r *Run) metadata() map[string]json.RawMessage {
	if len(r.Events) == 0 {
		return r.Meta
	}
	data := map[string]json.RawMessage{}
	for _, ev := range r.Events {
		if custom, ok := ev.Body.(trace.Custom); ok {
			data[custom.Name] = custom.Data
		}
	}
	return data
}

// Resources is the resource usage of a run, as far as its recording has it; the rest is 0.
type Resources struct {
	Usage   llm.Usage
	Latency time.Duration
	Cost    float64 // in the currency of the recording, usually US dollars
}

// Resources returns the resource usage of the run. For a trace it is the usage of all model
// calls and the time of the last event. For other recordings it comes from Meta: Inspect's
// model_usage, of all models, and total_time; promptfoo's tokenUsage, also of the response, latencyMs and cost;
// SWE-agent's info.model_stats; the responses of mini-swe-agent; Langfuse's latency; usage, or the AI SDK's totalUsage
// or the usage of its steps.
// Of these, input and output tokens are read. The usage of a conversation over HTTP is
// complete. The cost of spans and of conversations over HTTP is the sum of that of their calls, as cost in Meta.
func (r *Run) Resources() (s Resources) {
	for _, ev := range r.Events {
		switch body := ev.Body.(type) {
		case trace.ModelResponse:
			s.Usage = s.Usage.Add(body.Usage)
		case trace.ModelError:
			s.Usage = s.Usage.Add(body.Usage)
		}
		s.Latency = ev.At
	}
	if !hasResources(r.Meta) {
		return s
	}
	for _, model := range tree.Members(r.Meta["model_usage"]) {
		s.Usage = s.Usage.Add(usageOf(model))
		s.Cost += amount(tree.Member(model, "total_cost"))
	}
	stats := tree.Member(r.Meta["info"], "model_stats")
	for _, raw := range []json.RawMessage{r.Meta["totalUsage"], r.Meta["usage"], r.Meta["tokenUsage"], stats} {
		if s.Usage == (llm.Usage{}) {
			s.Usage = usageOf(raw)
		}
	}
	if s.Usage == (llm.Usage{}) {
		for _, step := range tree.Elements(r.Meta["steps"]) {
			s.Usage = s.Usage.Add(usageOf(tree.Member(step, "usage")))
		}
	}
	s.Cost = max(s.Cost, amount(r.Meta["cost"]), amount(tree.Member(stats, "instance_cost")), amount(tree.Member(r.Meta["provider_usage"], "cost")))
	latency := tree.Member(r.Meta["trace"], "latency")
	if latency == nil && r.Meta["observations"] != nil {
		latency = r.Meta["latency"] // the API of Langfuse has no member trace
	}
	s.Latency = max(s.Latency, duration(latency, time.Second), duration(r.Meta["latencyMs"], time.Millisecond), duration(r.Meta["total_time"], time.Second))
	return s
}

// hasResources reports whether a run may have a member that [Run.Resources] reads. For the few members of a row, this takes less
// time than to look for each of them.
func hasResources(meta map[string]json.RawMessage) bool {
	const few = 16
	if len(meta) > few {
		return true
	}
	for name := range meta {
		switch name {
		case "model_usage", "info", "totalUsage", "usage", "tokenUsage", "steps", "cost", "provider_usage", "trace", "observations", "latencyMs", "total_time":
			return true
		}
	}
	return false
}

var usageMembers = []string{"usage", "totalUsage", "tokenUsage"}

// wrongUsage returns the values that are no counts in the usage that [Run.Resources] reads from the Meta of a run.
func (s *Source) wrongUsage(run string, line int, meta map[string]json.RawMessage) []*Error {
	has := func(name string) bool { return meta[name] != nil }
	if !slices.ContainsFunc(usageMembers, has) && !has("model_usage") && !has("info") && !has("steps") {
		return nil
	}
	var wrong []*Error
	add := func(err error) {
		e := s.errorAt(line, "", err)
		e.Place = run
		wrong = append(wrong, e)
	}
	find := func(place string, usage json.RawMessage) {
		shape.Usage(place, usage, func(format string, args ...any) {
			add(fmt.Errorf(format, args...))
		})
	}
	for _, name := range usageMembers {
		if usage := meta[name]; usage != nil {
			find(name, usage)
		}
	}
	for model, usage := range tree.Members(meta["model_usage"]) {
		find("model_usage."+model, usage)
	}
	if stats := tree.Member(meta["info"], "model_stats"); stats != nil {
		find("info.model_stats", stats)
		if cost := tree.Member(stats, "instance_cost"); !tree.IsNull(cost) && !isNumber(cost) {
			add(errors.New("info.model_stats.instance_cost: expected a number"))
		}
	}
	for n, step := range tree.Elements(meta["steps"]) {
		find(fmt.Sprintf("steps[%d].usage", n), tree.Member(step, "usage"))
	}
	return wrong
}

// usageOf reads tokens under their usual names, and all counts under llm's names.
func usageOf(usage json.RawMessage) (u llm.Usage) {
	if tree.IsNull(usage) {
		return u
	}
	largest := func(names ...string) (n int64) {
		for _, name := range names {
			n = max(n, tree.Count(usage, name))
		}
		return n
	}
	u.CacheReadInputTokens = largest("cached", "cache_read_input_tokens")
	u.CacheCreationInputTokens = largest("cache_write", "cache_creation_input_tokens")
	u.ReasoningOutputTokens = largest("reasoning", "reasoning_output_tokens")
	u.InputTokens = largest("input_tokens", "inputTokens", "prompt_tokens", "promptTokens", "prompt", "tokens_sent", "input")
	u.OutputTokens = largest("output_tokens", "outputTokens", "completion_tokens", "completionTokens", "completion", "tokens_received", "output")
	return u
}

// amount reads a cost or a time, which may be in a string, as all values of CSV are; any other value is 0.
func amount(raw json.RawMessage) float64 {
	v, _ := tree.Amount(raw)
	return v
}

// duration reads a number of units; a value of another kind or too large for a Duration is 0.
func duration(raw json.RawMessage, unit time.Duration) time.Duration {
	const most = 1e9
	if v := amount(raw); v <= most {
		return time.Duration(v * float64(unit))
	}
	return 0
}

// CaseName returns the Case, or else the first user message, or else the name of the run. Long
// messages are shortened and get a digest. The string is UTF-8 and shares no memory with the run.
func (r *Run) CaseName() string {
	name := cmp.Or(r.Case, shorten(r.Prompt()), r.Name)
	return strings.Clone(strings.ToValidUTF8(name, "\uFFFD"))
}

// Prompt returns the text of the first user message; empty if there is none.
func (r *Run) Prompt() string {
	messages := r.Messages
	for _, ev := range r.Events {
		if req, ok := ev.Body.(trace.ModelRequest); ok {
			messages = req.NewMessages
			break
		}
	}
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			return m.Text()
		}
	}
	return ""
}

// shorten returns a string, or the beginning and the digest of a long one.
func shorten(text string) string {
	const maxBytes = 200
	if len(text) <= maxBytes {
		return text
	}
	end := maxBytes - 1
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	digest := sha256.Sum256([]byte(text))
	return text[:end] + "… " + hex.EncodeToString(digest[:16])
}
