package spans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/modelcall"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffLangSmith recognizes runs of LangSmith: the body of a request with runs to create and to
// change, or runs, one per line or in a list.
func SniffLangSmith(h *format.Head) (format.Layout, bool) {
	upload := h.Object && h.Has("post", "patch") && h.Contains(`"run_type"`, `"dotted_order"`, `"trace_id"`)
	return format.Layout{Array: true}, upload || h.Has("run_type") && h.Has("inputs", "outputs", "trace_id", "dotted_order")
}

// langSmith reads runs of LangSmith (RunCreate and RunUpdate in python/langsmith/schemas.py of
// github.com/langchain-ai/langsmith-sdk). A run of LangSmith is a span. Each conversation of the
// calls of models in a trace is a run. Run.Meta has the spans, and those of the other types.
type langSmith struct {
	spans map[string]*langSmithSpan // by id
	order []*langSmithSpan
	// replaced are values that changes replace, and rest has other members of uploads.
	replaced, rest tree.List
	unknown        []format.Unknown // of no trace
	lost           bool
	size           int // of the recording
}

type langSmithSpan struct {
	format.Element // of its beginning, with all changes

	id, trace, parent, order string
	// otherParent is the parent that counts if the order does not have it.
	otherParent string
}

// NewLangSmith returns a reader of runs of LangSmith.
func NewLangSmith() format.Records { return &langSmith{spans: map[string]*langSmithSpan{}} }

// langSmithTypes are the types of runs; true for calls of models.
var langSmithTypes = map[string]bool{"llm": true, "chain": false, "tool": false, "retriever": false, "embedding": false, "prompt": false, "parser": false}

// Read implements format.Records. The runs of a trace may be anywhere.
func (l *langSmith) Read(raw json.RawMessage, line int) func() []format.Run {
	var elements []format.Element
	read := func(e format.Element) { elements = append(elements, e) }
	rest := raw
	for _, name := range []string{"post", "patch"} {
		if value := tree.Member(raw, name); len(value) > 0 && value[0] == '[' {
			format.Elements(raw, line, name, read)
			rest = tree.Without(rest, name)
		}
	}
	if len(rest) == len(raw) {
		rest = nil
		format.Elements(raw, line, "", read)
	}
	spans := make([]langSmithSpan, len(elements))
	ordered.Each(len(elements), len(raw), func(i int) { spans[i].read(elements[i]) })
	return func() []format.Run {
		l.size += len(raw)
		for i := range spans {
			l.span(&spans[i])
		}
		if rest != nil {
			for name := range tree.Members(rest) {
				l.unknown = append(l.unknown, format.Unknown{Line: line, Path: name, Err: errors.New("unknown member: want post and patch")})
			}
			l.rest.Add(rest)
		}
		return nil
	}
}

// Skip implements format.Records.
func (l *langSmith) Skip() { l.lost = true }

// read reads the place of a run in its trace.
func (s *langSmithSpan) read(e format.Element) {
	var x tree.Index
	x.Read(e.Raw)
	text := func(name string) string {
		text, _ := tree.Text(x.Member(name))
		return text
	}
	s.Element, s.order = e, text("dotted_order")
	ids := strings.Split(s.order, ".")
	idOf := func(segment string) string {
		const uuid = 36
		return segment[max(0, len(segment)-uuid):]
	}
	s.id, s.trace = cmp.Or(text("id"), idOf(ids[len(ids)-1])), cmp.Or(text("trace_id"), idOf(ids[0]))
	if n := len(ids); n > 1 {
		s.parent = idOf(ids[n-2])
	}
	s.otherParent = text("parent_run_id")
}

// span adds a run, or the changes of a run.
func (l *langSmith) span(read *langSmithSpan) {
	read.id = cmp.Or(read.id, "#"+strconv.Itoa(len(l.order)))
	s := l.spans[read.id]
	if s == nil {
		read.parent = cmp.Or(read.parent, read.otherParent)
		l.spans[read.id] = read
		l.order = append(l.order, read)
		return
	}
	var replaced json.RawMessage
	if s.Raw, replaced = mergeRun(s.Raw, read.Raw); replaced != nil {
		l.replaced.Add(replaced)
	}
	s.trace, s.order, s.parent = cmp.Or(s.trace, read.trace), cmp.Or(s.order, read.order), cmp.Or(read.parent, s.parent, read.otherParent)
}

// mergeRun returns a run with its changes, and the members that are not empty and that the changes
// replace.
func mergeRun(run, changes json.RawMessage) (merged, replaced json.RawMessage) {
	var with, without tree.Object
	for key, value := range tree.Members(run) {
		switch change := tree.Member(changes, key); {
		case tree.IsNull(change):
			with.Add(key, value)
		case string(change) != string(value) && !slices.Contains([]string{"{}", "[]", "null"}, string(value)):
			without.Add(key, value)
		}
	}
	for key, value := range tree.Members(changes) {
		if !tree.IsNull(value) || tree.Member(run, key) == nil {
			with.Add(key, value)
		}
	}
	return with.JSON(), without.JSON()
}

// Runs implements format.Records.
func (l *langSmith) Runs() (runs []format.Run) {
	slices.SortStableFunc(l.order, func(a, b *langSmithSpan) int { return cmp.Compare(a.order, b.order) })
	byTrace := map[string][]*langSmithSpan{}
	var traces []string
	for _, s := range l.order {
		if byTrace[s.trace] == nil {
			traces = append(traces, s.trace)
		}
		byTrace[s.trace] = append(byTrace[s.trace], s)
	}
	byPlace := make([][]format.Run, len(traces))
	ordered.Each(len(traces), l.size, func(i int) {
		byPlace[i] = l.trace(cmp.Or(traces[i], "trace"), byTrace[traces[i]])
	})
	runs = slices.Concat(byPlace...)
	if runs == nil && l.rest != nil {
		runs = []format.Run{{Name: "trace", Epoch: format.NoEpoch, Meta: map[string]json.RawMessage{}}}
	}
	if runs == nil {
		return nil
	}
	runs[0].Unknown = append(runs[0].Unknown, l.unknown...)
	for name, list := range map[string]tree.List{"replaced": l.replaced, "upload": l.rest} {
		if list != nil {
			runs[0].Meta[name] = list.JSON()
		}
	}
	return runs
}

// trace returns the runs of a trace. The first one has the scores and what was not understood.
func (l *langSmith) trace(name string, list []*langSmithSpan) []format.Run {
	spans := make([]recordedSpan, len(list))
	var unknown []format.Unknown
	lost := l.lost
	for n, s := range list {
		spans[n] = recordedSpan{raw: s.Raw, id: s.id, parent: s.parent, scores: s.scores()}
		found, whole := s.call(&spans[n], n)
		unknown = append(unknown, found...)
		lost = lost || !whole
	}
	runs := spanRuns(spans, name, list[0].Line, "runs", newConversation(&modelCall{}))
	runs[0].Unknown = unknown
	for i := range runs {
		if lost {
			runs[i].Gap = 1 // the missing messages may be of any conversation
		}
	}
	return runs
}

// scores returns the averages of the feedback.
func (s *langSmithSpan) scores() (scores []format.Score) {
	for key, stats := range tree.Members(s.Raw, "feedback_stats") {
		if avg := tree.Member(stats, "avg"); !tree.IsNull(avg) {
			scores = append(scores, format.ScoreOf(key, avg))
		}
	}
	return scores
}

// call reads the messages of a run if it is a call of a model, and returns what was not understood, and
// whether the messages of a conversation were read. Its number is the order of its start.
func (s *langSmithSpan) call(span *recordedSpan, number int) (unknown []format.Unknown, whole bool) {
	var x tree.Index
	x.Read(s.Raw)
	report := func(path, text string, args ...any) {
		if path != "" {
			path = strings.TrimPrefix(s.Path+"."+path, ".")
		}
		unknown = append(unknown, format.Unknown{Line: s.Line, Path: cmp.Or(path, s.Path), Err: fmt.Errorf(text, args...)})
	}
	runType := x.Member("run_type")
	kind, _ := tree.Text(runType)
	isModel, known := langSmithTypes[kind]
	switch {
	case len(s.Raw) == 0 || s.Raw[0] != '{':
		report("", "the run is not an object")
	case tree.IsNull(runType):
		report("", "the run has no run_type: its beginning is missing")
	case !known:
		report("", "the run has the unknown run_type %q", kind)
	}
	if !isModel {
		return unknown, unknown == nil
	}
	stats := x.Member("feedback_stats")
	isWrong := !message.IsEmpty(stats) && !isObject(stats)
	for _, value := range tree.Members(stats) {
		isWrong = isWrong || !tree.IsNull(value) && !isObject(value)
	}
	if isWrong {
		report("feedback_stats", "expected an object with the statistics of each score")
	}
	inputs, outputs := x.Member("inputs"), x.Member("outputs")
	if string(outputs) == "{}" {
		outputs = nil
	}
	call := modelcall.Read(inputs, outputs)
	whole = unknown == nil
	for _, err := range call.Errs {
		what := "the messages of the call of a model cannot be read: %w"
		if err.Partial {
			what = "the call of a model: %w"
		}
		report(err.Member+"s", what, err.Err)
		whole = whole && err.Partial
	}
	if len(call.Input)+len(call.Output) > 0 {
		names := make([]string, len(call.Read))
		for i, name := range call.Read {
			names[i] = name + "s"
		}
		used := resources{cost: langSmithCost(&x, func(path string) { report(path, "expected a number") })}
		used.usage = langSmithUsage(outputs, x.Member("extra"), func(format string, args ...any) {
			what := fmt.Sprintf(format, args...)
			isKnown := func(e modelcall.Error) bool { return strings.HasSuffix(what, e.Err.Error()) } // in the body of the response
			if !slices.ContainsFunc(call.Errs, isKnown) {
				report("", "%s", what)
			}
		})
		span.call = &modelCall{Call: call, rank: 1, start: uint64(number), used: used}
		span.rest = x.Without(names...)
	} else if call.Errs == nil {
		report("", "the call of a model has no messages: let the program send its inputs and outputs to LangSmith")
		whole = false
	}
	return unknown, whole
}

// langSmithCost returns the cost of a call, which several members may have. It calls wrong with the path of each that is none.
func langSmithCost(x *tree.Index, wrong func(path string)) (cost float64) {
	for _, path := range []string{"total_cost", "outputs.usage_metadata.total_cost", "extra.metadata.usage_metadata.total_cost"} {
		first, others, _ := strings.Cut(path, ".")
		value := x.Member(first)
		if others != "" {
			value = tree.Member(value, strings.Split(others, ".")...)
		}
		amount, ok := tree.Amount(value)
		if cost = max(cost, amount); !ok {
			wrong(path)
		}
	}
	return cost
}

// langSmithUsage returns the usage of a call: that of LangSmith, of the provider, or of LangChain. It calls add for each
// value that is no count.
func langSmithUsage(outputs, extra json.RawMessage, add func(format string, args ...any)) (u llm.Usage) {
	generation := tree.Element(tree.Element(tree.Member(outputs, "generations"), "0"), "0")
	ofMessage, usage := message.LangChainUsage(tree.Member(generation, "message"))
	for _, source := range []struct {
		place string
		usage json.RawMessage
	}{
		{"outputs.usage_metadata", tree.Member(outputs, "usage_metadata")}, {"extra.metadata.usage_metadata", tree.Member(extra, "metadata", "usage_metadata")},
		{"outputs.usage", tree.Member(outputs, "usage")}, {"outputs.llm_output.token_usage", tree.Member(outputs, "llm_output", "token_usage")},
		{"outputs.generations[0][0].message." + ofMessage, usage},
	} {
		shape.Usage(source.place, source.usage, add)
		if u == (llm.Usage{}) {
			u = message.LangChainCounts(source.usage)
		}
	}
	return u
}
