package looptape_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/decompress"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/layers"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// renamed maps a current word to the word of version 1 of the formats, which the expected results
// have. It omits words that did not change. If a constant gets another value, and readers convert
// the old one, add it here.
var renamed = map[any]string{
	trace.Continue: "go_on", trace.PurposeGrade: "judge", trace.DeltaArguments: "args",
	trace.ReasonToolCalls: "calls", trace.ReasonEndTurn: "none", trace.ReasonMaxSteps: "cap", trace.ReasonRunawayGuard: "guard",
	trace.ReasonHandoff: "hand_off", trace.ReasonMiddleware: "policy",
	skipReason(trace.SkipMalformedArguments): "malformed_args", skipReason(trace.SkipInvalidArguments): "invalid_args", skipReason(trace.SkipTruncated): "cut",
	recording.Truncated:   "cut",
	trace.KindModelConfig: "model.setup", trace.KindModelResponse: "model.turn", trace.KindToolArguments: "args.resolved", trace.KindHistoryRewrite: "rewrite",
}

type skipReason string

// formatWord returns the word of the expected results.
func formatWord[W ~string](w W) any {
	if was, ok := renamed[w]; ok {
		return was
	}
	return text(string(w))
}

// text returns a string, or its base64 if it is not UTF-8.
func text(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return []string{"base64", base64.StdEncoding.EncodeToString([]byte(s))}
}

// viewSystem is the text of a system prompt. Version 1 has no parts, and no marks.
func viewSystem(s llm.System) any {
	if slices.Equal(s, llm.SystemText(s.Text())) {
		return text(s.Text())
	}
	return s
}

// values is a view with values by position.
type values = []any

// compatViews are the views of a file, by its folder; nil is for a file that is read together with
// another one.
var compatViews = map[string]func(t *testing.T, path string) any{
	"cassettes": viewCassette,
	"converted": viewConverted,
	"evals":     viewEval,
	"reports":   viewReport,
	"scenarios": viewScenario,
	"scripts":   viewScript,
	"suites":    viewSuite,
	"traces":    viewTrace,
	"values":    viewValue,
}

func source(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func got[T any](v T, err error) func(t *testing.T, of string) T {
	return func(t *testing.T, of string) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		return v
	}
}

// Messages.

func viewUsage(u llm.Usage) values {
	return values{u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.ReasoningOutputTokens}
}

func viewMessages(messages []llm.Message) values {
	out := values{}
	for _, m := range messages {
		out = append(out, values{formatWord(m.Role), viewParts(m.Parts), raw(m.Opaque)})
	}
	return out
}

func raw(b json.RawMessage) any {
	if b == nil {
		return nil
	}
	return b
}

func viewParts(parts []llm.Part) values {
	out := values{}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			out = append(out, values{"text", text(p.Text), p.Refusal, raw(p.Opaque)})
		case llm.Reasoning:
			out = append(out, values{"reasoning", text(p.Text), raw(p.Opaque)})
		case llm.Media:
			out = append(out, values{"media", text(p.MediaType), text(p.Name), hex.EncodeToString(p.Data), text(p.URL), text(p.Digest), p.Size, raw(p.Opaque)})
		case llm.ToolCall:
			out = append(out, values{"call", text(p.ID), text(p.Name), text(p.Arguments), p.IDGenerated, text(p.ProviderID), p.ProviderExecuted, raw(p.Opaque)})
		case llm.ToolResult:
			out = append(out, values{"result", text(p.ID), text(p.Name), viewParts(p.Content), p.IsError, raw(p.Opaque)})
		case llm.Unknown:
			out = append(out, values{"unknown", p.Kind, p.Raw})
		}
	}
	return out
}

func viewTools(tools []llm.Tool) values {
	out := values{}
	for _, t := range tools {
		out = append(out, values{text(t.Name), text(t.Description), raw(t.Parameters), t.Strict})
	}
	return out
}

func viewSettings(s llm.Settings) values {
	return values{s.MaxTokens, s.Temperature, s.TopP, s.Seed, s.StopSequences, s.ParallelToolCalls, formatWord(s.ReasoningEffort), raw(s.OutputSchema)}
}

func viewTexts(texts []string) values {
	out := values{}
	for _, s := range texts {
		out = append(out, text(s))
	}
	return out
}

func viewPairs(m map[string]string) values {
	out := values{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, values{formatWord(k), text(m[k])})
	}
	return out
}

// Traces.

func viewOptions(o trace.Options) values {
	out := values{}
	for _, x := range o {
		out = append(out, values{formatWord(x.Name), formatWord(x.Value)})
	}
	return out
}

func viewError(e *trace.Error) any {
	if e == nil {
		return nil
	}
	return values{formatWord(e.Type), text(e.Message), e.Status, text(e.Code), e.RetryAfter, e.Retryable}
}

func viewUsages(by map[trace.Purpose]llm.Usage) values {
	out := values{}
	for _, p := range slices.Sorted(maps.Keys(by)) {
		out = append(out, values{formatWord(p), viewUsage(by[p])})
	}
	return out
}

// viewEvent returns the view of an event: its kind, its place, and its values in the order of
// version 1.
func viewEvent(ev *trace.Event) values {
	var kind trace.Kind
	if ev.Body != nil {
		kind = ev.Body.Kind()
	}
	return append(values{formatWord(kind), ev.Seq, text(ev.Run), ev.Step, ev.Attempt, formatWord(ev.Purpose), ev.At}, viewBody(ev.Body)...)
}

func viewBody(body trace.Body) values {
	switch b := body.(type) {
	case trace.RunStart:
		var parent any
		if b.Parent != nil {
			parent = values{text(b.Parent.Run), text(b.Parent.ToolCallID)}
		}
		tools := values{}
		for _, t := range b.Tools {
			tools = append(tools, values{text(t.Name), t.Client})
		}
		return values{parent, formatWord(b.Clock), viewOptions(b.Options), tools, viewPairs(b.Suppress)}
	case trace.ModelConfig:
		extra := values{}
		for _, k := range slices.Sorted(maps.Keys(b.Extra)) {
			extra = append(extra, values{k, b.Extra[k]})
		}
		return values{text(b.Model), viewSystem(b.System), viewTools(b.Tools), formatWord(b.ToolChoice.Mode), text(b.ToolChoice.Name), viewSettings(b.Settings), extra}
	case trace.ModelRequest:
		return values{b.PrefixMessages, viewMessages(b.NewMessages)}
	case trace.ModelDelta:
		return values{formatWord(b.Type), text(b.ToolCallID), text(b.Name), text(b.Text)}
	case trace.ModelResponse:
		return append(viewMessages([]llm.Message{b.Message}), formatWord(b.FinishReason), text(b.RawFinishReason), text(b.FinishMessage), text(b.ResponseID), text(b.Model), viewUsage(b.Usage))
	case trace.ModelError:
		return values{viewError(&b.Error), b.Partial, viewParts(b.PartialContent), viewUsage(b.Usage)}
	case trace.ModelRetry:
		return values{b.Wait, formatWord(b.Reason)}
	case trace.Decision:
		return values{formatWord(b.Action), formatWord(b.Reason), b.ToolCalls, formatWord(b.By), text(b.Note)}
	case trace.ToolArguments:
		return values{text(b.ToolCallID), text(b.Arguments), formatWord(b.Reason)}
	case trace.ToolStart:
		return values{text(b.ToolCallID), text(b.Name), text(b.Arguments)}
	case trace.ToolEnd:
		return append(values{text(b.ToolCallID), formatWord(b.Outcome)}, viewParts([]llm.Part{b.Result})...)
	case trace.ToolSkip:
		return append(values{text(b.ToolCallID), text(b.Name), formatWord(skipReason(b.Reason))}, viewParts([]llm.Part{b.Result})...)
	case trace.Abandoned:
		return values{text(b.ToolCallID)}
	case trace.HistoryRewrite:
		return values{formatWord(b.Reason), formatWord(b.By)}
	case trace.Canceled:
		return values{formatWord(trace.Reason(b.Reason))}
	case trace.Suspended:
		return values{viewTexts(b.Pending), text(b.Digest)}
	case trace.Resumed:
		return values{text(b.Of)}
	case trace.Warning:
		return values{formatWord(b.Code), text(b.Message), text(b.ToolCallID)}
	case trace.Custom:
		return values{formatWord(b.Name), raw(b.Data)}
	case trace.RunEnd:
		return values{formatWord(b.StopReason), formatWord(b.FinishReason), b.Steps, b.ModelCalls, viewUsage(b.Usage), viewUsages(b.UsageBy), viewTexts(b.Pending), viewMessages(b.AppendedMessages), viewError(b.Error)}
	case trace.Unknown:
		return values{b.Raw}
	}
	return nil
}

// runView is the view of a run.
type runView struct {
	Name       any    `json:"name"`
	Events     int    `json:"events"`
	Parent     any    `json:"parent,omitempty"`
	Steps      int    `json:"steps"`
	ModelCalls int    `json:"model_calls"`
	Stop       any    `json:"stop"`
	Finish     any    `json:"finish"`
	FinalText  any    `json:"final_text"`
	Usage      values `json:"usage"`
	UsageBy    values `json:"usage_by_purpose,omitempty"`
	Pending    values `json:"pending,omitempty"`
	Error      any    `json:"error,omitempty"`
	ToolCalls  values `json:"tool_calls"`
	Decisions  values `json:"decisions"`
	Violations values `json:"violations,omitempty"`
	called     []call // in the order of their starts
}

// call is a tool call with its result.
type call struct {
	id, name, args string
	result         string
	failed, done   bool
}

func (r *runView) add(ev *trace.Event) {
	r.Events++
	switch b := ev.Body.(type) {
	case trace.RunStart:
		if b.Parent != nil {
			r.Parent = values{text(b.Parent.Run), text(b.Parent.ToolCallID)}
		}
	case trace.ModelResponse:
		if said := b.Message.Text(); said != "" && ev.Purpose == trace.PurposeAnswer {
			r.FinalText = text(said)
		}
	case trace.Decision:
		r.Decisions = append(r.Decisions, values{formatWord(b.Action), formatWord(b.Reason)})
	case trace.ToolStart:
		r.called = append(r.called, call{id: b.ToolCallID, name: b.Name, args: b.Arguments})
	case trace.ToolEnd:
		r.end(b.ToolCallID, &b.Result)
	case trace.ToolSkip:
		r.called = append(r.called, call{id: b.ToolCallID, name: b.Name})
		r.end(b.ToolCallID, &b.Result)
	case trace.RunEnd:
		r.Stop, r.Finish, r.Steps, r.ModelCalls = formatWord(b.StopReason), formatWord(b.FinishReason), b.Steps, b.ModelCalls
		r.Usage, r.UsageBy, r.Pending, r.Error = viewUsage(b.Usage), viewUsages(b.UsageBy), viewTexts(b.Pending), viewError(b.Error)
	}
}

func (r *runView) end(id string, result *llm.ToolResult) {
	for i, c := range slices.Backward(r.called) {
		if c.id == id && !c.done {
			r.called[i].done, r.called[i].result, r.called[i].failed = true, result.Text(), result.IsError
			return
		}
	}
}

// viewRuns returns the views of the runs with their violations.
func viewRuns(events []trace.Event, found []check.Violation) []*runView {
	var runs []*runView
	by := map[string]*runView{}
	for i := range events {
		ev := &events[i]
		if by[ev.Run] == nil {
			by[ev.Run] = &runView{Name: text(ev.Run), ToolCalls: values{}, Decisions: values{}}
			runs = append(runs, by[ev.Run])
		}
		by[ev.Run].add(ev)
	}
	for _, v := range found {
		if by[v.Run] != nil {
			by[v.Run].Violations = append(by[v.Run].Violations, values{v.Invariant, v.Event, text(v.Suppressed)})
		}
	}
	for _, r := range runs {
		for _, c := range r.called {
			r.ToolCalls = append(r.ToolCalls, values{text(c.name), text(c.args), text(c.result), c.failed})
		}
	}
	return runs
}

// readTrace reads a trace as looptape check does: its events, the unreadable lines and the
// violations.
func readTrace(t *testing.T, path string) (events []trace.Event, broken values, found []check.Violation) {
	t.Helper()
	src, err := importer.Open(path, bytes.NewReader(source(t, path)))
	if err != nil {
		return nil, values{"the file"}, nil
	}
	if src.Format.Name != "trace" {
		t.Fatalf("%s: it is read as %s, not as a trace", path, src.Format.Name)
	}
	c := check.New(nil)
	for ev, err := range src.Events() {
		if err != nil {
			e, _ := errors.AsType[*importer.Error](err)
			broken = append(broken, values{e.Line, text(e.Run)})
			c.ReportMissing(e.Run, e.Line)
			continue
		}
		c.Add(ev)
		events = append(events, cloned(ev))
	}
	return events, broken, c.Done()
}

func cloned(ev trace.Event) trace.Event {
	ev.Run = strings.Clone(ev.Run)
	return ev
}

// viewTrace returns the view of the header, the runs, and for some files each event.
func viewTrace(t *testing.T, path string) any {
	events, broken, found := readTrace(t, path)
	view := map[string]any{"runs": viewRuns(events, found), "unreadable": broken}
	if plain, _, err := decompress.NewReader(bytes.NewReader(source(t, path))); err == nil {
		if r, err := trace.NewReader(plain); err == nil {
			h := r.Header()
			view["header"] = values{text(h.Writer), viewOptions(h.Declares), viewPairs(h.Suppress)}
		}
	}
	all := values{}
	for i := range events {
		all = append(all, viewEvent(&events[i]))
	}
	name := filepath.Base(path)
	switch {
	case name == "full.jsonl", name == "every.jsonl", name == "base64.jsonl":
		view["events"] = all
	case strings.HasPrefix(name, "full.jsonl."):
		sameEvents(t, path, all, strings.TrimSuffix(path, filepath.Ext(path)), func(events []trace.Event) []trace.Event { return events })
	case name == "canonical.jsonl":
		sameEvents(t, path, all, filepath.Join(filepath.Dir(path), "full.jsonl"), canonicalRuns)
	}
	return view
}

// canonicalRuns returns the events in canonical form, by run.
func canonicalRuns(events []trace.Event) (all []trace.Event) {
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Run == events[0].Run {
			n++
		}
		for _, ev := range trace.Canonical(events[:n]) {
			ev.Run = events[0].Run
			all = append(all, ev)
		}
		events = events[n:]
	}
	return all
}

// sameEvents compares the events of a file with those of another, converted by form.
func sameEvents(t *testing.T, path string, all values, other string, form func([]trace.Event) []trace.Event) {
	t.Helper()
	events, _, _ := readTrace(t, other)
	want := values{}
	for _, ev := range form(events) {
		want = append(want, viewEvent(&ev))
	}
	if a, b := compatJSON(t, all), compatJSON(t, want); !bytes.Equal(a, b) {
		t.Errorf("%s: its events are not those of %s", path, other)
	}
}

// Scenarios.

// viewScenario returns the view of the run of a scenario.
func viewScenario(t *testing.T, path string) any {
	f := got(scenario.Parse(filepath.Base(path), source(t, path)))(t, path)
	o := got(scenario.Run(t.Context(), f.Script, nil))(t, path)
	found := got(check.Trace(func(yield func(trace.Event, error) bool) {
		for _, ev := range o.Events {
			if !yield(ev, nil) {
				return
			}
		}
	}, nil))(t, path)
	held := f.Compare(o) == ""
	for _, v := range found {
		held = held && v.Suppressed != ""
	}
	asked := values{}
	for _, r := range o.Requests {
		asked = append(asked, values{len(r.Request.Messages), len(r.Request.Tools), formatWord(r.Request.ResponseMode)})
	}
	runs := viewRuns(o.Events, found)
	for _, r := range runs {
		r.withoutWords(f.Script)
	}
	return map[string]any{"held": held, "runs": runs, "requests": asked, "unused": len(o.Unused), "live": o.Live, "failed": o.Err != nil}
}

// withoutWords removes the texts of the loop from a current run: texts that are not in the script.
func (r *runView) withoutWords(script *fake.Script) {
	own := func(s any) any {
		plain, ok := s.(string)
		if !ok || plain == "" || strings.Contains(scripted(script), plain) {
			return s
		}
		return "(words of the loop)"
	}
	if e, ok := r.Error.(values); ok {
		const message = 1
		e[message] = "(words of the loop)"
	}
	for _, c := range r.ToolCalls {
		const arguments, result = 1, 2
		c.(values)[arguments], c.(values)[result] = own(c.(values)[arguments]), own(c.(values)[result])
	}
	r.FinalText = own(r.FinalText)
}

// scripted returns all texts of a script.
func scripted(s *fake.Script) string {
	var b strings.Builder
	behavior := func(x *fake.Behavior) { b.WriteString(x.Text + "\n" + x.Error + "\n" + string(x.Returns) + "\n") }
	for _, t := range s.Tools {
		behavior(&t.Behavior)
		for i := range t.Calls {
			behavior(&t.Calls[i])
		}
		for i := range t.ByArguments {
			behavior(&t.ByArguments[i])
		}
	}
	for _, m := range s.Models {
		for _, t := range m.Responses {
			for _, a := range append([]fake.Response{t}, t.Attempts...) {
				for _, ev := range a.StreamingEvents() {
					b.Write(llm.AppendEvent(nil, ev))
				}
				b.WriteString("\n" + a.Text + strings.Join(a.Chunks, "") + "\n")
				for _, c := range a.Calls {
					b.WriteString(c.Arguments + strings.Join(c.Chunks, "") + "\n")
				}
			}
		}
	}
	return b.String()
}

// viewScript returns the view of a script that is read and not run.
func viewScript(t *testing.T, path string) any {
	s := got(fake.ParseScript(filepath.Base(path), source(t, path)))(t, path)
	tools := values{}
	for _, tool := range s.Tools {
		calls := values{}
		for _, b := range tool.Calls {
			calls = append(calls, viewBehavior(&b))
		}
		by := values{}
		for _, c := range tool.ByArguments {
			by = append(by, values{text(c.Arguments), viewBehavior(&c)})
		}
		tools = append(tools, values{tool.Name, tool.Description, raw(tool.Parameters), tool.Client, viewBehavior(&tool.Behavior), calls, by})
	}
	models := values{}
	for _, m := range s.Models {
		turns := values{}
		for i := range m.Responses {
			turns = append(turns, viewTurn(&m.Responses[i]))
		}
		models = append(models, values{m.Name, turns})
	}
	return values{
		s.Name, s.Doc, viewScriptOptions(s.Loop), tools, models, s.Gates, s.System, viewMessages(s.History), viewMessages(s.Input),
		values{s.Cancel.Before, s.Cancel.At, s.Cancel.InTool, s.Cancel.AfterEvents}, s.StopAfter,
	}
}

func viewScriptOptions(options []fake.Option) values {
	out := values{}
	for _, o := range options {
		items := values{}
		for _, v := range o.Value.Items {
			items = append(items, values{int(v.Kind), v.Text, viewScriptOptions(v.Fields)})
		}
		out = append(out, values{o.Name, int(o.Value.Kind), o.Value.Text, items, viewScriptOptions(o.Value.Fields)})
	}
	return out
}

func viewBehavior(b *fake.Behavior) values {
	return values{raw(b.Returns), text(b.Text), text(b.Error), b.Panic, b.Exit, b.Delay, b.Gate, b.Stall, b.IgnoresCancel}
}

func viewTurn(turn *fake.Response) values {
	events := values{}
	for ev, err := range fake.NewModel(*turn).Stream(context.Background(), &llm.Request{}) {
		if err != nil || len(events) > 0 && turn.Stall {
			break
		}
		events = append(events, json.RawMessage(nil))
		events[len(events)-1] = viewModelEvent(ev)
		if turn.Stall && len(events) == len(turn.StreamingEvents()) {
			break
		}
	}
	attempts := values{}
	for i := range turn.Attempts {
		attempts = append(attempts, viewTurn(&turn.Attempts[i]))
	}
	calls := values{}
	for _, c := range turn.Calls {
		calls = append(calls, values{c.ID, c.Name, text(c.Arguments), c.Chunks, c.Index, c.OmitIndex, c.SingleChunk, c.OmitEnd, c.ProviderExecuted, raw(c.Opaque)})
	}
	var fails, expects any
	if f := turn.Error; f != nil {
		fails = values{f.Status, f.Code, f.Message, f.RequestID, f.RetryAfter, f.Retryable, f.Connection, f.After}
	}
	if e := turn.Expect; e != nil {
		results := values{}
		for _, r := range e.Results {
			results = append(results, values{r.ID, r.Text, r.IsError})
		}
		expects = values{e.Messages, formatWord(e.Role), e.Text, results, e.System, e.Tools, e.ToolChoice, raw(e.Request)}
	}
	return values{
		turn.Repeat, expects, turn.Delay, turn.Gate, turn.EventInterval, text(turn.Reasoning), raw(turn.ReasoningOpaque), text(turn.Text), turn.Chunks,
		raw(turn.TextOpaque), turn.Refusal, calls, turn.ChunkSize, len(turn.Warnings), viewUsage(turn.Usage), formatWord(turn.FinishReason), turn.RawFinishReason,
		turn.FinishMessage, turn.ResponseID, turn.Model, raw(turn.Opaque), turn.OmitFinish, fails, turn.Stall, attempts, events,
	}
}

func viewModelEvent(ev llm.Event) values {
	switch e := ev.(type) {
	case llm.TextDelta:
		return values{"text", text(e.Text), e.Refusal, raw(e.Opaque)}
	case llm.ReasoningDelta:
		return values{"reasoning", text(e.Text), raw(e.Opaque)}
	case llm.ToolCallStart:
		return values{"call", e.Index, e.ID, e.Name, raw(e.Opaque)}
	case llm.ToolCallDelta:
		return values{"arguments", e.Index, e.ID, text(e.Arguments)}
	case llm.ToolCallEnd:
		return values{"call end", e.Index, e.ID, text(e.Arguments), raw(e.Opaque)}
	case llm.PartDone:
		return viewParts([]llm.Part{e.Part})
	case llm.Usage:
		return values{"usage", viewUsage(e)}
	case llm.Warning:
		return values{"warning", e.Code, e.Message}
	case llm.Finish:
		return values{"finish", formatWord(e.Reason), e.Raw, e.Message, e.ResponseID, e.Model, raw(e.Opaque)}
	case llm.Unknown:
		return values{"unknown", e.Raw}
	}
	return nil
}

// Cassettes.

func viewHeader(h http.Header) values {
	out := values{}
	for _, k := range slices.Sorted(maps.Keys(h)) {
		out = append(out, values{k, viewTexts(h[k])})
	}
	return out
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func viewInteraction(x *recording.Interaction) values {
	pieces := values{}
	for _, p := range x.Response.Chunks {
		pieces = append(pieces, values{p.Len, p.After.Milliseconds()})
	}
	r := &x.Response
	return values{
		x.Request.Method, text(x.Request.URL), text(x.Session), viewHeader(x.Request.Header), viewHeader(x.Request.Trailer), len(x.Request.Body), sum(x.Request.Body),
		r.Status, text(r.Reason), r.Proto, viewHeader(r.Header), viewHeader(r.Trailer), len(r.Body), sum(r.Body), r.Chunked, r.Uncompressed, r.Wait.Milliseconds(), pieces,
		formatWord(r.Termination), text(r.Failure),
	}
}

// cassetteOptions are the options of the recordings.
var cassetteOptions = map[string]*cassettes.Options{
	"volatile.tape":         {Ignore: []string{"/metadata/user", "/messages/*/id", "?name"}, Rules: redact.Rules{Secret: []string{"pin"}}},
	"secrets.tape":          {Ignore: []string{"/id"}, Rules: redact.Rules{Secret: []string{"pin"}}},
	"unclosed.tape.journal": {Ignore: []string{"/id"}, Rules: redact.Rules{Secret: []string{"pin"}}},
}

// viewCassette returns the view of a cassette: its content, its responses and its model calls.
func viewCassette(t *testing.T, path string) any {
	f := got(cassettes.ReadFile(path))(t, path)
	upstreams := viewPairs(f.Upstreams)
	head := values{f.Recorded, f.Recorder, f.Match != "", upstreams, f.Incomplete() != nil}
	interactions, replayed := values{}, values{}
	o := cassettes.Options{AllowUnused: true}
	if with := cassetteOptions[filepath.Base(path)]; with != nil {
		o.Ignore, o.Secret = with.Ignore, with.Secret
	}
	c := got(f.Replay(&o))(t, path)
	for x, err := range f.All() {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		interactions = append(interactions, viewInteraction(x))
		replayed = append(replayed, replay(t, c, x))
	}
	if err := c.Close(); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return map[string]any{"head": head, "interactions": interactions, "replayed": replayed, "exchanges": viewExchanges(t, path)}
}

// replay sends the recorded requests to a cassette.
func replay(t *testing.T, c *cassettes.Cassette, x *recording.Interaction) values {
	t.Helper()
	r := got(http.NewRequestWithContext(t.Context(), x.Request.Method, x.Request.URL, bytes.NewReader(x.Request.Body)))(t, x.Request.URL)
	r.Header = x.Request.Header.Clone()
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	if x.Session != "" {
		r.Header.Set(cassettes.SessionHeader, x.Session)
	}
	resp, err := c.RoundTrip(r)
	if _, missed := errors.AsType[*cassettes.MissError](err); missed {
		return values{"missed"}
	}
	if err != nil {
		return values{"failed"}
	}
	body, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); closed != nil {
		t.Error(closed)
	}
	return values{resp.StatusCode, sum(body), err == nil}
}

// viewExchanges returns the views of the model requests and responses in a recording.
func viewExchanges(t *testing.T, path string) values {
	t.Helper()
	out := values{}
	src, err := importer.Open(path, bytes.NewReader(source(t, path)))
	if err != nil {
		return values{"unreadable"}
	}
	for x, err := range src.Exchanges() {
		if err != nil || x.Request == nil {
			out = append(out, values{x.Number, text(x.Session), err != nil})
			continue
		}
		var answer any
		if x.Response != nil {
			answer = values{viewMessages([]llm.Message{x.Response.Message()}), formatWord(x.Response.FinishReason), viewUsage(x.Response.Usage)}
		}
		out = append(out, values{x.Number, text(x.Session), formatWord(x.Protocol.Name()), x.Request.Model, len(x.Request.Messages), len(x.Request.Tools), answer})
	}
	return out
}

// viewConverted returns the view of a recording in the format of another recorder.
func viewConverted(t *testing.T, path string) any {
	rec, err := convert.Parse(filepath.Base(path), source(t, path))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	out := values{}
	for _, x := range rec.Interactions {
		out = append(out, viewInteraction(x))
	}
	return out
}

// viewReport returns the view of a report of used interactions.
func viewReport(t *testing.T, path string) any {
	out := values{}
	for _, u := range got(cassettes.ReadReport(filepath.Base(path), source(t, path)))(t, path) {
		out = append(out, values{u.Cassette, u.Used})
	}
	return out
}

// Evals.

func viewByName[T any](b evals.ByName[T], show func(T) any) values {
	out := values{}
	for name, v := range b.All() {
		out = append(out, values{formatWord(name), show(v)})
	}
	return out
}

func plainText(s string) any { return s }

func viewRow(r *evals.Row) values {
	return values{
		r.Case, r.Epoch, r.Cluster, r.Run, r.File, r.Line, r.Digest,
		viewByName(r.Scores, func(x float64) any { return compatNumber(x) }), viewByName(r.Errors, plainText), viewByName(r.Explanations, plainText),
		viewByName(r.Gradings, func(g evals.Grading) any { return values{g.Responses, viewUsage(g.Usage)} }),
		viewUsage(r.Usage), compatNumber(r.Cost), r.Latency, r.Steps, viewByName(r.Calls, func(c evals.Calls) any { return values{c.N, c.Failed} }),
	}
}

func number(x *float64) any {
	if x == nil {
		return nil
	}
	return compatNumber(*x)
}

func interval(i *[2]float64) any {
	if i == nil {
		return nil
	}
	return values{compatNumber(i[0]), compatNumber(i[1])}
}

func numbers(xs []float64) values {
	out := values{}
	for _, x := range xs {
		out = append(out, compatNumber(x))
	}
	return out
}

func viewResult(t *testing.T, r *evals.Result) map[string]any {
	rows, unreadable, metrics := values{}, values{}, values{}
	for row := range r.Rows.All() {
		rows = append(rows, viewRow(&row))
	}
	for _, u := range r.Unreadable {
		unreadable = append(unreadable, values{u.File, u.Line})
	}
	f := got(r.Summary(nil))(t, "figures")
	for _, name := range slices.Sorted(maps.Keys(f.Metrics)) {
		m := f.Metrics[name]
		over, of := m.MeanOfRuns, intervalsOfVersion1(t, r, name)
		metrics = append(metrics, values{
			formatWord(name), m.N, number(over.Value), number(over.Naive), number(over.ClusterCR0), number(over.Cluster),
			interval(of[0]), interval(over.Wilson), interval(of[1]), interval(of[2]),
			numbers(m.PassHatK), numbers(m.PassAtK), m.Missing, m.Errors,
		})
	}
	return map[string]any{"scorers": len(r.Scorers), "rows": rows, "unreadable": unreadable, "metrics": metrics, "graders": viewUsage(f.Graders)}
}

// intervalsOfVersion1 returns the intervals of the mean over runs that version 1 printed: of t, Wilson's with
// the effective number of runs, and the bootstrap's. Current intervals are of the mean over cases.
func intervalsOfVersion1(t *testing.T, r *evals.Result, metric string) (list [3]*[2]float64) {
	const level, seed = 0.95, 1
	ends := func(in stats.Interval, err error) *[2]float64 {
		if err != nil {
			return nil
		}
		return &[2]float64{in.Low, in.High}
	}
	var rows []stats.Row
	for row := range r.Rows.All() {
		if x, ok := row.Scores.Get(metric); ok {
			rows = append(rows, stats.Row{Case: row.Case, Epoch: len(rows), Cluster: row.Cluster, Value: x})
		}
	}
	if len(rows) == 0 {
		return list
	}
	s := got(stats.New(rows))(t, "sample")
	naive, _ := s.Naive()
	e, err := s.Cluster()
	if err != nil {
		return list
	}
	list[0], list[2] = ends(e.T(level)), ends(s.Bootstrap(level, stats.Resampling{Seed: seed}))
	if _, err := s.Wilson(level); err != nil {
		return list
	}
	quantile := func(df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile((1 + level) / 2) }
	n, p := float64(s.Clusters()), e.Value
	if p > 0 && p < 1 {
		ratio := naive.SE / e.SE * quantile(naive.DF) / quantile(e.DF)
		n = float64(s.Len()) * min(1, ratio*ratio)
	}
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	z2 := z * z / n
	low := func(p float64) float64 { return p * p / (p + z2/2 + math.Sqrt(z2*(p*(1-p)+z2/4))) }
	list[1] = &[2]float64{low(p), 1 - low(1-p)}
	return list
}

// scored reads a score file.
func scored(t *testing.T, path string) *evals.Result {
	t.Helper()
	return got(evals.ReadResult(filepath.Base(path), bytes.NewReader(source(t, path))))(t, path)
}

func viewEval(t *testing.T, path string) any {
	name, folder := filepath.Base(path), filepath.Dir(path)
	switch {
	case strings.HasSuffix(name, ".score"), strings.HasSuffix(name, ".score.gz"):
		return viewResult(t, scored(t, path))
	case name == "baseline.json":
		return viewBaseline(t, path, filepath.Join(folder, "before.score"), filepath.Join(folder, "after.score"))
	case strings.HasSuffix(name, "baseline.json"):
		return viewBaseline(t, path, filepath.Join(folder, "clusters.score"))
	case strings.HasSuffix(name, ".resume"):
		return viewJournal(t, path)
	}
	return nil // a recording that is scored
}

// viewBaseline returns the view of a baseline, and the result of a gate with it.
func viewBaseline(t *testing.T, path string, results ...string) any {
	b := got(evals.ReadBaseline(filepath.Base(path), bytes.NewReader(source(t, path))))(t, path)
	cases, means, gates := values{}, values{}, values{}
	for _, c := range b.Cases {
		scores := values{}
		for _, metric := range slices.Sorted(maps.Keys(c.Scores)) {
			scores = append(scores, values{metric, numbers(c.Scores[metric])})
		}
		cases = append(cases, values{c.Case, c.Cluster, c.MustPass, scores})
	}
	for _, metric := range slices.Sorted(maps.Keys(b.Means)) {
		means = append(means, values{metric, compatNumber(b.Means[metric])})
	}
	for _, name := range results {
		v := got((&evals.Gate{Drop: evals.DefaultDrop}).Evaluate(b, scored(t, name)))(t, name)
		found := values{}
		for _, f := range v.Findings {
			found = append(found, values{formatWord(f.Kind), f.Metric, f.Case})
		}
		gates = append(gates, values{filepath.Base(name), v.Passed, found})
	}
	return map[string]any{"scorers": b.Scorers, "means": means, "cases": cases, "gates": gates}
}

// file is an input of scoring.
func file(t *testing.T, path, name string, found bool) evals.Input {
	text := source(t, path)
	return evals.Input{Name: name, Found: found, Open: func() (io.ReadCloser, error) {
		return struct {
			*bytes.Reader
			io.Closer
		}{bytes.NewReader(text), io.NopCloser(nil)}, nil
	}}
}

// viewJournal continues interrupted scoring. It does not score again what the journal contains.
func viewJournal(t *testing.T, path string) any {
	name := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(name, source(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
	f := got(os.OpenFile(name, os.O_RDWR, 0))(t, name)
	defer func() { _ = f.Close() }()
	j := got(evals.OpenJournal(f, "compat"))(t, path)
	again := evals.Scoring{Name: "marks", Scorer: evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score {
		return []evals.Score{{Metric: "mark", Value: -1, Explanation: "scored again"}}
	})}
	kept, passed := j.Kept(), values{}
	folder := filepath.Dir(path)
	r := got(evals.ScoreFiles(t.Context(), []evals.Input{
		file(t, filepath.Join(folder, "runs.jsonl"), "runs.jsonl", false),
		file(t, filepath.Join(folder, "more.jsonl"), "more.jsonl", false),
		file(t, filepath.Join(folder, "words.md"), "words.md", true),
	}, &evals.Options{Scorers: []evals.Scoring{again}, Journal: j, Skipped: func(name string) { passed = append(passed, name) }}))(t, path)
	return map[string]any{"kept": kept, "passed": passed, "result": viewResult(t, r)}
}

// viewSuite returns the view of a suite, and the scores if its recordings are present.
func viewSuite(t *testing.T, path string) any {
	text := source(t, path)
	if !evals.IsSuite(text) {
		return nil // a recording
	}
	folder := filepath.Dir(path)
	var graders values
	maker := &scorers.Maker{Folder: folder, Files: os.DirFS(folder), Environ: os.Environ(), Grader: func(g *scorers.Grader) (llm.Model, error) {
		graders = append(graders, values{g.Cassette, g.Scenario, g.Provider, g.BaseURL, g.Model, g.Temperature, g.MaxTokens, g.Reasoning})
		answer := `{"reason": "It says so.", "grade": "pass"}`
		if g.Scenario == "scale.yaml" {
			answer = `{"reason": "Nearly.", "grade": 4}`
		} else if g.Scenario != "" {
			answer = `{"reason": "It is first.", "grade": "A"}`
		}
		return fake.NewModel(fake.Response{Text: answer, Repeat: 50, Usage: llm.Usage{InputTokens: 3, OutputTokens: 2}}), nil
	}}
	s := got(evals.ParseSuite(filepath.Base(path), text, maker.Parse))(t, path)
	view := map[string]any{
		"runs": s.Runs, "baseline": s.Baseline, "scorers": len(s.Scorers), "graders": graders,
		"gate": values{s.Gate.Alpha, s.Gate.Drop, s.Gate.Metrics, s.Gate.Lower, s.Gate.MustPass, s.Gate.Seed},
	}
	if m := s.Rows; m != nil {
		view["rows"] = values{m.Case, m.Epoch, m.Cluster, m.Prompt, m.Expected, m.Answer, viewPairs(m.Scores)}
	}
	if n := s.Names; n != nil {
		view["names"] = values{n.Case, n.Epoch, n.Cluster}
	}
	names, err := s.Match(os.DirFS(folder))
	if err != nil {
		return view // its files are not in the corpus
	}
	var inputs []evals.Input
	for _, name := range names {
		inputs = append(inputs, file(t, filepath.Join(folder, name), name, false))
	}
	r := got(evals.ScoreFiles(t.Context(), inputs, &s.Options))(t, path)
	rows := slices.Collect(r.Rows.All())
	for i := range rows {
		row := &rows[i]
		row.Digest, row.Explanations = "", nil // current words, and the form of messages
		for n := range row.Errors {
			row.Errors[n].Value = ""
		}
	}
	slices.SortFunc(rows, func(a, b evals.Row) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	r.Rows = evals.NewRows(rows...)
	view["result"] = viewResult(t, r)
	return view
}

// Values that users keep as JSON.

func value[T any](t *testing.T, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal(source(t, path), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func viewValue(t *testing.T, path string) any {
	switch filepath.Base(path) {
	case "request.json":
		r := value[llm.Request](t, path)
		extra := values{}
		for _, k := range slices.Sorted(maps.Keys(r.Extra)) {
			extra = append(extra, values{k, r.Extra[k]})
		}
		return values{r.Model, viewSystem(r.System), viewMessages(r.Messages), viewTools(r.Tools), formatWord(r.ToolChoice.Mode), r.ToolChoice.Name, formatWord(r.ResponseMode), viewSettings(r.Settings), extra}
	case "history.json":
		return viewHistory(got(history.Import(value[history.Snapshot](t, path)))(t, path))
	case "layers.json":
		return viewLayers(value[[]layers.Layer](t, path))
	case "files.json":
		m := got(files.NewMemory(value[files.State](t, path)))(t, path)
		return values{got(m.Read("a/b.txt"))(t, path), got(m.Read("c.txt"))(t, path), m.State().Dirs, len(m.State().Files)}
	case "agent.json", "checkpoint.json":
		return viewAgent(t, path)
	case "approvals.json":
		return viewApprovals(value[[]middleware.ApprovalRequest](t, path))
	}
	t.Fatalf("%s has no view", path)
	return nil
}

func viewApprovals(pending []middleware.ApprovalRequest) values {
	out := values{}
	for _, p := range pending {
		out = append(out, values{p.Run, p.Step, viewParts([]llm.Part{p.Call}), p.Arguments})
	}
	return out
}

func viewLayers(of []layers.Layer) values {
	out := values{}
	for _, l := range of {
		out = append(out, values{l.Name, viewParts(l.Content), l.Priority, l.Tags, l.Owner, l.MergeParent, l.Metadata})
	}
	return out
}

func viewHistory(h *history.History) values {
	entries := values{}
	for _, e := range h.Entries() {
		entries = append(entries, values{viewMessages([]llm.Message{e.Message}), e.Meta.Model, viewUsage(e.Meta.Usage), e.Meta.Latency})
	}
	return values{h.ID(), entries, h.System(), viewLayers(h.Layers().Own()), h.EstimatedTokens(), h.Metadata()}
}

// viewAgent restores an agent and continues with the pending call.
func viewAgent(t *testing.T, path string) any {
	s := value[agentloop.Snapshot](t, path)
	var ran values
	tool := func(name string) loop.Tool {
		return loop.Tool{Name: name, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			ran = append(ran, values{c.ID, c.Name, c.Arguments})
			return loop.TextOutput("done"), nil
		}}
	}
	cfg := agentloop.Config{
		Tools: []loop.Tool{tool("look"), tool("pay")}, Clock: fake.NewClock(),
		Policy: middleware.PermissionPolicy(func(context.Context, middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Ask: true}, nil
		}),
	}
	l := got(agentloop.Restore(t.Context(), fake.NewModel(fake.Response{Text: "Paid."}), s, &cfg))(t, path)
	reports := values{}
	for _, r := range l.Reports() {
		steps := values{}
		for _, x := range r.Steps {
			calls := values{}
			for _, c := range x.ToolCalls {
				calls = append(calls, values{c.CallID, c.ToolName, c.Arguments, c.ResultSizeBytes, c.Skipped, c.Error})
			}
			steps = append(steps, values{x.Index, formatWord(x.Type), formatWord(x.FinishReason), x.Usage.InputTokens, x.Usage.OutputTokens, calls})
		}
		u := r.TotalUsage
		reports = append(reports, values{r.ID, r.Model, formatWord(r.Reason), r.UserMessage.Text, r.FinalText, steps, r.StepCount, r.ModelCalls, r.ToolCallCount, u.InputTokens, u.OutputTokens, u.CachedTokens, u.CacheWriteTokens, u.ReasoningTokens})
	}
	view := map[string]any{"id": l.ID(), "history": viewHistory(l.History()), "metadata": l.Metadata(), "pending": viewApprovals(l.Pending()), "reports": reports}
	for _, p := range l.Pending() {
		if err := l.ResumeWithApproval(t.Context(), p.Call.ID, middleware.Approval{Decision: middleware.Approve}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	view["ran"], view["after"] = ran, viewMessages(l.History().Messages())
	return view
}
