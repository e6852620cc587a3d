package rerun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// ModelOptions change what a model is asked, and what counts as the recorded path. The
// zero value asks what the recording asked.
type ModelOptions struct {
	// Compare says when the arguments of a call are those of a recorded one.
	Compare Options
	// Name is the name of the model in requests; "" is the recorded one.
	Name string
	// System takes the place of the system prompt, and Prompt that of the user's message
	// which the first recorded turn answers; "" leaves it. {recorded} in them stands for what
	// was there.
	System, Prompt string
	// Tools take the place of the definitions that the recording has, if not nil.
	Tools []llm.Tool
	// ContinueOnUnknown answers a call that is not recorded with an error, so that the model can go on;
	// otherwise the run ends where it leaves the recorded path.
	ContinueOnUnknown bool
	// Clock is that of the run; nil is a new virtual one. A scripted model that waits needs
	// the same.
	Clock loop.Clock
}

// recordedMark stands in prompts for what was recorded.
const recordedMark = "{recorded}"

// UnrecordedText is what a model reads of a call that is not recorded.
const UnrecordedText = "the result of this call is not known: it was not made in the recording"

// ModelRerun is what came of a run that another model, or with another prompt, has gone.
type ModelRerun struct {
	// Left is where the run left the recorded path; nil if it did not.
	Divergence *Divergence
	// Steps are the turns of the model, and Reworded of these the answers without calls on
	// the recorded path whose text is another than that recorded.
	Steps, Reworded int
	// Err is why the model gave no further turn; nil if it did not fail.
	Err    error
	Events []trace.Event // of the rerun
}

// Departure is where a run leaves the recorded path.
type Divergence struct {
	// Step is the turn of the rerun, and RecordedStep that of the recording which it is
	// held against, both from 0.
	Step         int      `json:"step"`
	RecordedStep int      `json:"recorded_step"`
	Why          string   `json:"why"` // in words
	Recorded     Response `json:"recorded"`
	Now          Response `json:"now"`
}

// Turn is what a model said.
type Response struct {
	Text  string         `json:"text,omitempty"`
	Calls []ResponseCall `json:"calls,omitempty"`
}

// ResponseCall is a call of a Turn.
type ResponseCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // as the model sent them
}

func turnCall(c llm.ToolCall) ResponseCall { return ResponseCall{c.Name, c.Arguments} }

func turnOf(text string, calls []llm.ToolCall) Response {
	t := Response{Text: text}
	for _, c := range calls {
		t.Calls = append(t.Calls, turnCall(c))
	}
	return t
}

// String is the call in a line.
func (c ResponseCall) String() string { return strings.TrimSpace(c.Tool + " " + c.Arguments) }

// String is a turn in a line, its text and then its calls.
func (t Response) String() string {
	var words []string
	if t.Text != "" {
		words = append(words, fmt.Sprintf("%q", t.Text))
	}
	for _, c := range t.Calls {
		words = append(words, c.String())
	}
	return cmp.Or(strings.Join(words, "; "), "nothing")
}

// Model has a model go the path of a recorded run: it gets what the users said, and its
// calls the recorded results. The options may be nil.
//
// From one message of users to the next, the recorded path is a set of calls: the model
// keeps to it as long as it makes these calls, in any order and however many at once, each
// as often as it was made, and no other. A call is the recorded one of the same tool and
// the same arguments; of several the first that was not made yet. The users' next message
// comes when the model answers without a call after all of them. The run leaves the path
// with a call that is not one of these, or with an answer before all of them were made; the
// texts of answers are no part of the path. What users say behind that nobody knows, and
// they say nothing.
//
// The error says that the run cannot be rerun, or is that of a context that has ended.
func Model(ctx context.Context, run *importer.Run, model llm.Model, o *ModelOptions) (*ModelRerun, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	p, err := newPath(run)
	if err != nil {
		return nil, place(run, err)
	}
	x := &modelRerun{path: p, goOn: o.ContinueOnUnknown, stages: p.stages()}
	if x.compare, err = newComparison(&o.Compare); err != nil {
		return nil, place(run, err)
	}
	p.ask(o)
	x.out.Events, err = play(ctx, model, loop.Config{
		Model: p.model, System: p.system, Tools: p.offers(nil), MaxSteps: len(p.turns) + loop.DefaultMaxSteps, Clock: o.Clock,
	}, p.begin, x)
	if _, odd := errors.AsType[*loop.HistoryError](err); odd || err != nil && (ctx.Err() != nil || x.out.Events == nil) {
		return nil, place(run, err)
	}
	x.out.Err = err
	return &x.out, nil
}

// ask changes what the model is asked.
func (p *path) ask(o *ModelOptions) {
	change := func(text *string, to string) {
		if to != "" {
			*text = strings.ReplaceAll(to, recordedMark, *text)
		}
	}
	if o.Name != "" {
		p.model = o.Name
	}
	if o.Tools != nil {
		p.tools = o.Tools
	}
	change(&p.system, o.System)
	for i, m := range slices.Backward(p.begin) {
		if m.Role == llm.RoleUser && o.Prompt != "" {
			text := m.Text()
			change(&text, o.Prompt)
			others := slices.DeleteFunc(slices.Clone(m.Parts), func(part llm.Part) bool { _, is := part.(llm.Text); return is })
			p.begin[i].Parts = slices.Concat([]llm.Part{llm.Text{Text: text}}, others)
			return
		}
	}
}
