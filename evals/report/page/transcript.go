package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

type transcript struct {
	// Want is the expected output. Answer is the recorded final answer if no message contains it.
	Want    []entry `json:"want,omitempty"`
	Answer  *entry  `json:"answer,omitempty"`
	Entries []entry `json:"entries"`
	// Left counts omitted entries.
	Left int `json:"left,omitzero"`
}

// entry is an element of a transcript. A call includes its result.
type entry struct {
	Kind kind   `json:"kind"`
	Text string `json:"text,omitempty"`
	// Shared is the digest of a string that the page contains once; Text is empty then.
	Shared string `json:"shared,omitempty"`
	// Cut counts the omitted bytes of the entry.
	Cut int `json:"cut,omitzero"`
	// Step counts the model responses from 1; on the first entry of each.
	Step int `json:"step,omitzero"`
	// Purpose is the purpose of a response other than the answer.
	Purpose trace.Purpose `json:"purpose,omitempty"`
	// Finish is the finish reason, if known; on the first entry of a response.
	Finish llm.FinishReason `json:"finish,omitempty"`

	// The rest is of calls and results.
	Name string `json:"name,omitempty"` // of the tool
	ID   string `json:"id,omitempty"`
	Ran  string `json:"ran,omitempty"` // the arguments that it was run with, if others
	// Answered is true if there is a Result, Failed if it is an error. Skipped is the reason if
	// the tool did not run.
	Answered bool         `json:"answered,omitzero"`
	Failed   bool         `json:"failed,omitzero"`
	Skipped  string       `json:"skipped,omitempty"`
	Result   string       `json:"result,omitempty"`
	Runs     []transcript `json:"runs,omitempty"` // that the call started
}

type kind string

const (
	kindSystem    kind = "system"
	kindUser      kind = "user"
	kindAssistant kind = "assistant"
	kindReasoning kind = "reasoning"
	kindRefusal   kind = "refusal"
	kindCall      kind = "call" // its arguments are the Text
	kindResult    kind = "result"
	kindOther     kind = "other" // a description of other content
	kindNote      kind = "note"  // other events
	kindError     kind = "error"
)

// Limits of a page.
const (
	maxText = 64 << 10 // bytes of a string
	maxRun  = 4 << 20  // bytes of the texts of a run
)

// reading makes a transcript of a run.
type reading struct {
	transcript

	size      int              // bytes of texts
	cut       bool             // one of them is not whole
	open      map[string][]int // the calls of an id that have no result yet, in order
	system    string
	asked     bool // a request was seen
	rewritten bool // the next request does not continue the previous one
	steps     int
}

// read returns the transcript of a run, without the runs that calls of it started.
func read(run *importer.Run) *reading {
	r := &reading{transcript: transcript{Entries: []entry{}}, open: map[string][]int{}}
	for _, m := range run.Messages {
		if m.Role == llm.RoleAssistant {
			r.answer(m, trace.PurposeAnswer, "")
		} else {
			r.message(m)
		}
	}
	for i := range run.Events {
		r.event(&run.Events[i])
	}
	r.wanted(run)
	return r
}

// wanted adds the expected output and a final answer that no message contains.
func (r *reading) wanted(run *importer.Run) {
	said := func(e entry) bool { return e.Kind == kindAssistant && e.Text == run.Answer }
	if run.Answer != "" && !slices.ContainsFunc(r.Entries, said) {
		r.Answer = &entry{Kind: kindAssistant}
		r.Answer.Text = r.fit(run.Answer, r.Answer)
	}
	for _, text := range run.Expected.Answers {
		r.want(entry{Kind: kindAssistant, Text: text})
	}
	for _, c := range run.Expected.Calls {
		r.want(entry{Kind: kindCall, Name: c.Name, Text: string(c.Arguments)})
	}
}

func (r *reading) want(e entry) {
	e.Text = r.fit(e.Text, &e)
	r.Want = append(r.Want, e)
}

// message takes a message, in the words of its role.
func (r *reading) message(m llm.Message) {
	for _, p := range m.Parts {
		r.part(m.Role, p)
	}
}

func (r *reading) answer(m llm.Message, purpose trace.Purpose, finish llm.FinishReason) {
	r.steps++
	first := len(r.Entries)
	r.message(m)
	if len(r.Entries) == first && !r.add(entry{Kind: kindOther, Text: "a response without content"}) {
		return
	}
	e := &r.Entries[first]
	e.Step, e.Purpose, e.Finish = r.steps, purpose, finish
}

func (r *reading) part(role llm.Role, p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		r.text(role, p)
	case llm.Reasoning:
		e := entry{Kind: kindOther, Text: "hidden reasoning"}
		if p.Text != "" {
			e = entry{Kind: kindReasoning, Text: p.Text}
		}
		r.add(e)
	case llm.Media:
		r.add(entry{Kind: kindOther, Text: described(p)})
	case llm.ToolCall:
		r.call(p)
	case llm.ToolResult:
		if !r.result(p, "") {
			r.add(entry{Kind: kindResult, Name: p.Name, ID: p.ID, Answered: true, Failed: p.IsError, Result: content(p)})
		}
	case llm.Unknown:
		r.add(entry{Kind: kindOther, Text: "a part of the kind " + p.Kind})
	}
}

func (r *reading) text(role llm.Role, t llm.Text) {
	kinds := map[llm.Role]kind{llm.RoleSystem: kindSystem, llm.RoleUser: kindUser, llm.RoleTool: kindResult}
	k := cmp.Or(kinds[role], kindAssistant)
	switch {
	case t.Refusal:
		r.add(entry{Kind: kindRefusal, Text: t.Text})
	case k == kindResult:
		r.add(entry{Kind: k, Answered: true, Result: t.Text})
	case t.Text != "":
		r.add(entry{Kind: k, Text: t.Text})
	}
}

func (r *reading) call(c llm.ToolCall) {
	e := entry{Kind: kindCall, Name: c.Name, ID: c.ID, Text: c.Arguments}
	if c.ProviderExecuted {
		e.Skipped = "the provider ran it"
	}
	if r.add(e) {
		r.open[c.ID] = append(r.open[c.ID], len(r.Entries)-1)
	}
}

// result adds a result to the first open call with its id, since ids can repeat. It reports
// whether there is one.
func (r *reading) result(res llm.ToolResult, skipped string) bool {
	waiting := r.open[res.ID]
	if len(waiting) == 0 {
		return false
	}
	r.open[res.ID] = waiting[1:]
	e := &r.Entries[waiting[0]]
	e.Answered, e.Failed, e.Skipped = true, res.IsError, cmp.Or(skipped, e.Skipped)
	e.Result = r.fit(content(res), e)
	return true
}

// add adds an entry if it is within the limit.
func (r *reading) add(e entry) bool {
	if r.size >= maxRun {
		r.Left++
		return false
	}
	e.Text = r.fit(e.Text, &e)
	e.Result = r.fit(e.Result, &e)
	r.Entries = append(r.Entries, e)
	return true
}

// fit clones a string and shortens it to the limits.
func (r *reading) fit(text string, e *entry) string {
	most := min(maxText, maxRun-min(r.size, maxRun))
	if len(text) > most {
		e.Cut += len(text) - most
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
			e.Cut++
		}
		text = text[:most]
		r.cut = true
	}
	r.size += len(text)
	return strings.Clone(text)
}

// content returns a result as text.
func content(res llm.ToolResult) string {
	var text strings.Builder
	for _, p := range res.Content {
		switch p := p.(type) {
		case llm.Text:
			text.WriteString(p.Text)
		case llm.Media:
			text.WriteString("[" + described(p) + "]")
		default: // no provider takes it
		}
	}
	return text.String()
}

func described(m llm.Media) string {
	words := []string{cmp.Or(m.MediaType, "a file")}
	if m.Name != "" {
		words = append(words, m.Name)
	}
	if size := max(m.Size, int64(len(m.Data))); size > 0 {
		words = append(words, fmt.Sprint(size, " bytes"))
	}
	if m.URL != "" {
		words = append(words, m.URL)
	}
	return strings.Join(words, ", ")
}

// event reads an event of a trace. Responses and results contain the conversation; requests add
// user messages and other results.
func (r *reading) event(ev *trace.Event) {
	switch body := ev.Body.(type) {
	case trace.ModelConfig:
		if prompt := body.System.Text(); ev.Purpose == trace.PurposeAnswer && prompt != r.system {
			r.system = prompt
			r.add(entry{Kind: kindSystem, Text: prompt})
		}
	case trace.HistoryRewrite:
		r.rewritten = true
		r.note(kindNote, "the messages were rewritten", body.Reason)
	case trace.ModelRequest:
		if ev.Purpose == trace.PurposeAnswer {
			r.request(body.NewMessages)
		}
	case trace.ModelResponse:
		r.answer(body.Message, ev.Purpose, body.FinishReason)
	case trace.ToolArguments:
		if waiting := r.open[body.ToolCallID]; len(waiting) > 0 {
			e := &r.Entries[waiting[0]]
			e.Ran = r.fit(body.Arguments, e)
		}
	case trace.ToolEnd:
		body.Result.ID = body.ToolCallID // ids of calls are unique in a trace
		r.result(body.Result, "")
	case trace.ToolSkip:
		body.Result.ID = body.ToolCallID
		r.result(body.Result, body.Reason)
	case trace.RunEnd:
		r.end(&body)
	case trace.ModelError:
		r.note(kindError, "a call of the model failed", body.Error.Message)
	case trace.ModelRetry:
		r.note(kindNote, "the model is called again", body.Reason)
	case trace.Abandoned:
		r.note(kindError, "a running tool was not waited for", body.ToolCallID)
	case trace.Canceled:
		r.note(kindNote, "the run was canceled", body.Reason)
	case trace.Suspended:
		r.note(kindNote, "the run waits for an external result", "")
	case trace.Resumed:
		r.note(kindNote, "the run continues another run", body.Of)
	case trace.Warning:
		r.note(kindNote, "warning", body.Message)
	default: // not shown
	}
}

// request reads the new messages of a request: all of the first and of a rewritten one, else
// those that are new.
func (r *reading) request(messages []llm.Message) {
	whole := !r.asked || r.rewritten
	r.asked, r.rewritten = true, false
	for _, m := range messages {
		if whole || m.Role == llm.RoleUser || m.Role == llm.RoleSystem {
			r.message(m)
			continue
		}
		for _, p := range m.Parts {
			if res, ok := p.(llm.ToolResult); ok {
				r.result(res, "")
			}
		}
	}
}

func (r *reading) end(body *trace.RunEnd) {
	r.request(body.AppendedMessages)
	switch {
	case body.Error != nil:
		r.note(kindError, "the run failed", body.Error.Message)
	case body.StopReason != trace.ReasonEndTurn:
		r.note(kindNote, "the run ended", string(body.StopReason))
	}
}

func (r *reading) note(k kind, what, why string) {
	if why != "" {
		what += ": " + why
	}
	r.add(entry{Kind: k, Text: what})
}

// attach adds a run to the entry of the call that started it, if it fits.
func (r *reading) attach(s startedRun) {
	i := slices.IndexFunc(r.Entries, func(e entry) bool { return e.Kind == kindCall && e.ID == s.call })
	if i < 0 || r.size+s.size > maxRun {
		r.Left++
		return
	}
	r.size += s.size
	r.Left += s.Left
	r.cut = r.cut || s.cut
	r.Entries[i].Runs = append(r.Entries[i].Runs, s.transcript)
}
