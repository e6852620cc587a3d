package spans

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/modelcall"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffLangfuse recognizes traces of Langfuse: downloads of its pages, which are objects with the
// members trace and observations, and traces of its API (GET /api/public/traces/{id}).
func SniffLangfuse(h *format.Head) (format.Layout, bool) {
	return format.Layout{Elements: true}, h.Has("trace", "observations") && h.Contains(`"observations"`, `"trace"`) &&
		h.Contains(`"projectId"`, `"parentObservationId"`, `"htmlPath"`) && !h.Contains(`"resourceSpans"`, `"scopeSpans"`)
}

// Langfuse reads a trace with its observations (packages/shared/src/domain/observations.ts in
// github.com/langfuse/langfuse). Each conversation of its model calls is a run. The first run has
// the observations that are in no conversation, and the scores of the trace.
func Langfuse(d *jsonio.Dec, run *format.Run) {
	t := langfuse{run: run, path: "observations"}
	found := run.Members(d, func() { t.read(d) }, t.path)
	if list := tree.Member(run.Meta["trace"], "observations"); !found && list != nil {
		t.path, found = "trace.observations", true
		nested := jsonio.NewDec(jsonio.View(list))
		if t.read(&nested); nested.Err() != nil {
			d.Fail("trace.observations is not a list of objects")
		}
	}
	if trace := run.Meta["trace"]; trace != nil && trace[0] != '{' {
		d.Fail("the member trace is not an object")
	}
	if !found {
		d.Fail("the trace has no observations")
	}
	if d.Err() == nil {
		t.runs()
	}
}

// langfuse is a trace of Langfuse.
type langfuse struct {
	run   *format.Run
	path  string // of the observations
	spans []recordedSpan
	// Of rows: each is an observation, which has a line of its own.
	rows   bool
	lines  []format.Element
	unread tree.List
}

// reportPart reports a part of the observation with this index.
func (t *langfuse) reportPart(n int, member, text string, args ...any) {
	path := t.path + "[" + strconv.Itoa(n) + "]" + member
	if t.rows {
		path = strings.TrimPrefix(t.lines[n].Path+member, ".")
	}
	t.run.ReportUnknown(path, text, args...)
	if t.rows {
		t.run.Unknown[len(t.run.Unknown)-1].Line = t.lines[n].Line
	}
}

// observationRanks are the types of observations. Those that are not calls of a model have the
// rank 0. An agent repeats the messages of its calls.
var observationRanks = map[string]int{
	"GENERATION": 1, "AGENT": 3,
	"SPAN": 0, "EVENT": 0, "TOOL": 0, "CHAIN": 0, "RETRIEVER": 0, "EVALUATOR": 0, "EMBEDDING": 0, "GUARDRAIL": 0,
}

func (t *langfuse) read(d *jsonio.Dec) {
	for range d.Elements() {
		if d.Peek() != '{' {
			d.Fail("expected an observation, which is an object")
			return
		}
		raw := json.RawMessage(d.Raw())
		t.spans = append(t.spans, recordedSpan{raw: raw, id: tree.Scalar(raw, "id"), parent: tree.Scalar(raw, "parentObservationId"), used: langfuseResources(raw)})
	}
}

// runs sets the run to the first conversation, and adds the others.
func (t *langfuse) runs() {
	for n := range t.spans {
		t.call(n)
	}
	t.scores()
	t.countOnce()
	whole := modelCall{Call: modelcall.Read(t.member("input"), t.member("output"))}
	isCall := slices.ContainsFunc(t.spans, func(s recordedSpan) bool { return s.call != nil })
	for _, err := range whole.Errs {
		switch {
		case !err.Partial: // the trace is not one of a conversation
			whole.Input, whole.Output = nil, nil
		case !isCall:
			t.run.ReportUnknown(err.Member, "the trace: %w", err.Err)
		}
	}
	name := cmp.Or(tree.Scalar(t.member("id")), t.run.Name)
	runs := spanRuns(t.spans, name, t.run.Line, "observations", newConversation(&whole))
	for n := range runs {
		maps.Copy(runs[n].Meta, t.run.Meta)
	}
	runs[0].Scores = append(runs[0].Scores, t.run.Scores...)
	runs[0].Unknown, runs[0].More = t.run.Unknown, runs[1:]
	*t.run = runs[0]
}

// member returns a member of the trace, which the API writes without the member trace.
func (t *langfuse) member(name string) json.RawMessage {
	if trace := t.run.Meta["trace"]; trace != nil {
		return tree.Member(trace, name)
	}
	return t.run.Meta[name]
}

// call reads the messages of the observation with this index if it is a call of a model.
func (t *langfuse) call(n int) {
	s := &t.spans[n]
	name, usage := usageMember(s.raw)
	shape.Usage(name, usage, func(format string, args ...any) { t.reportPart(n, "", format, args...) })
	for _, names := range costMembers {
		if cost := tree.Member(s.raw, names...); !tree.IsNull(cost) && !isNumber(cost) {
			t.reportPart(n, "."+strings.Join(names, "."), "expected a number")
		}
	}
	kind := tree.Scalar(s.raw, "type")
	rank, known := observationRanks[kind]
	if !known {
		t.reportPart(n, "", "the observation %q has the unknown type %q", tree.Scalar(s.raw, "name"), kind)
	}
	if rank == 0 {
		return
	}
	call := modelcall.Read(tree.Member(s.raw, "input"), tree.Member(s.raw, "output"))
	for _, err := range call.Errs {
		what := "the messages of the model call %q cannot be read: %w"
		if err.Partial {
			what = "the model call %q: %w"
		}
		t.reportPart(n, "."+err.Member, what, tree.Scalar(s.raw, "name"), err.Err)
	}
	if len(call.Input)+len(call.Output) > 0 {
		s.call = &modelCall{Call: call, rank: rank, start: timeOf(tree.Scalar(s.raw, "startTime"))}
		s.rest = tree.Without(s.raw, call.Read...)
	} else if call.Errs == nil && kind == "GENERATION" {
		t.reportPart(n, "", "the model call %q has no messages: let the program send its input and output to Langfuse", tree.Scalar(s.raw, "name"))
	}
}

// scores adds the scores that have a number to their observations, and the others to the run.
func (t *langfuse) scores() {
	for i, score := range t.run.Objects("scores", t.member("scores")) {
		name, value, id := tree.Scalar(score, "name"), tree.Member(score, "value"), tree.Scalar(score, "observationId")
		n := slices.IndexFunc(t.spans, func(s recordedSpan) bool { return s.id == id && id != "" })
		switch {
		case tree.First(score, "value", "stringValue", "longStringValue") == nil:
			t.run.ReportUnknown("scores["+strconv.Itoa(i)+"]", "the score has no value; it has the members %s", tree.Names(score))
		case tree.IsNull(value): // the score is a text, which the trace has
		case n < 0:
			t.run.Scores = append(t.run.Scores, format.ScoreOf(name, value))
		default:
			t.spans[n].scores = append(t.spans[n].scores, format.ScoreOf(name, value))
		}
	}
}

// timeOf returns the nanoseconds of a time in RFC 3339, or as Langfuse exports it; 0 if it is invalid.
func timeOf(text string) uint64 {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return uint64(max(0, at.UnixNano()))
		}
	}
	return 0
}

// costMembers are the paths of the cost of an observation or a trace. The API has several of them with the same cost.
var costMembers = [][]string{{"totalCost"}, {"calculatedTotalCost"}, {"costDetails", "total"}}

// langfuseResources returns the usage and the cost of an observation. The names of usageDetails are those of the
// provider or of the framework, except input and output.
func langfuseResources(observation json.RawMessage) (r resources) {
	for _, names := range costMembers {
		if cost := tree.Member(observation, names...); isNumber(cost) {
			amount, _ := tree.Amount(cost)
			r.cost = max(r.cost, amount)
		}
	}
	u := &r.usage
	_, details := usageMember(observation)
	count := func(names ...string) (n int64) {
		for _, name := range names {
			v, _ := strconv.ParseInt(tree.Scalar(details, name), 10, 64)
			n = max(n, v)
		}
		return n
	}
	u.InputTokens, u.OutputTokens = count("input", "promptTokens"), count("output", "completionTokens")
	u.CacheReadInputTokens = count("input_cache_read", "input_cached_tokens", "cache_read_input_tokens")
	u.CacheCreationInputTokens = count("input_cache_creation", "cache_creation_input_tokens")
	u.ReasoningOutputTokens = count("output_reasoning", "output_reasoning_tokens", "completion_details.reasoning")
	return r
}

// countOnce removes the usage and the cost of each observation that repeats those of observations below it.
// Frameworks set them for an agent, a chain or an outer call, and Langfuse shows their sum
// (github.com/langfuse/langfuse/issues/14754). In a cycle none is below another.
func (t *langfuse) countOnce() {
	byID := indexByID(t.spans)
	usage, cost := map[*recordedSpan]bool{}, map[*recordedSpan]bool{}
	for n := range t.spans {
		s := &t.spans[n]
		parents := slices.Collect(ancestors(t.spans, byID, n))
		if s.used == (resources{}) || slices.Contains(parents, s) {
			continue
		}
		kind, inTool := tree.Scalar(s.raw, "type"), false
		for _, parent := range parents {
			outer := tree.Scalar(parent.raw, "type")
			if repeatsUsage(outer, kind, inTool) {
				usage[parent] = usage[parent] || s.used.usage != (llm.Usage{})
				cost[parent] = cost[parent] || s.used.cost > 0
			}
			inTool = inTool || outer == "TOOL"
		}
	}
	for n := range t.spans {
		s := &t.spans[n]
		if usage[s] {
			s.used.usage = llm.Usage{}
		}
		if cost[s] {
			s.used.cost = 0
		}
	}
}

// repeatsUsage reports whether the usage of an observation of one type has that of one of another type below it, which
// may be in a tool. A call of a model has that of inner layers of the call, and an agent has that of its calls.
func repeatsUsage(outer, inner string, inTool bool) bool {
	switch outer {
	case "GENERATION":
		return inner == "GENERATION" && !inTool
	case "AGENT":
		return inner != "EMBEDDING"
	}
	return true
}

// usageMember returns the member of an observation with its usage.
func usageMember(observation json.RawMessage) (name string, usage json.RawMessage) {
	if usage = tree.Member(observation, "usageDetails"); usage != nil {
		return "usageDetails", usage
	}
	return "usage", tree.Member(observation, "usage")
}
