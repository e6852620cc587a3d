package spans

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffLangfuseRows recognizes the rows of Langfuse's tables of observations and of traces, as CSV, as a
// list or one per line, with names in camel case or, from the export to a blob storage, in snake case.
func SniffLangfuseRows(h *format.Head) (format.Layout, bool) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(h.Keys, name) })
	}
	observations := has("traceId", "trace_id") && !has("observations") &&
		(has("parentObservationId", "parent_observation_id") || !h.CSV && h.Contains(`"parentObservationId"`, `"parent_observation_id"`))
	traces := has("id") && has("timestamp") && has("bookmarked") && has("input", "output", "sessionId", "session_id")
	return format.Layout{Array: true}, observations || traces
}

// langfuseRows reads rows of Langfuse. The observations of a trace may be anywhere.
type langfuseRows struct {
	byID   map[string]*langfuse
	traces []*langfuse
	lost   bool
	size   int // of the recording
}

// NewLangfuseRows returns a reader of rows of Langfuse.
func NewLangfuseRows() format.Records { return &langfuseRows{byID: map[string]*langfuse{}} }

// Read implements format.Records.
func (l *langfuseRows) Read(raw json.RawMessage, line int) func() []format.Run {
	return func() []format.Run {
		l.size += len(raw)
		format.Elements(raw, line, "", l.row)
		return nil
	}
}

// Skip implements format.Records. The row may be of any trace.
func (l *langfuseRows) Skip() { l.lost = true }

func (l *langfuseRows) row(e format.Element) {
	row := camelCase(e.Raw)
	id := tree.Scalar(row, "traceId")
	isTrace := tree.Member(row, "traceId") == nil && tree.Member(row, "bookmarked") != nil
	if isTrace {
		id = tree.Scalar(row, "id")
	}
	t := l.trace(id, e.Line)
	switch {
	case len(e.Raw) == 0 || e.Raw[0] != '{':
		t.report(e, "the row is not an object")
	case isTrace && t.run.Meta["trace"] == nil:
		t.run.Meta["trace"] = row
		t.run.Scores = append(t.run.Scores, rowScores(row, traceColumns)...)
	case isTrace:
		t.report(e, "the trace "+strconv.Quote(id)+" is in another row, too")
	default:
		t.spans = append(t.spans, recordedSpan{
			raw: row, id: tree.Scalar(row, "id"), parent: tree.Scalar(row, "parentObservationId"),
			usage: langfuseUsage(row), scores: rowScores(row, observationColumns),
		})
		t.lines = append(t.lines, e)
	}
}

// report reports a row that is not read, which Run.Meta has.
func (t *langfuse) report(e format.Element, what string) {
	t.run.ReportUnknown(e.Path, "%s", what)
	t.run.Unknown[len(t.run.Unknown)-1].Line = e.Line
	t.unread.Add(e.Raw)
}

func (l *langfuseRows) trace(id string, line int) *langfuse {
	t := l.byID[id]
	if t == nil {
		name := cmp.Or(id, "trace-"+strconv.Itoa(len(l.traces)+1))
		t = &langfuse{run: &format.Run{Name: name, Line: line, Epoch: format.NoEpoch, Meta: map[string]json.RawMessage{}}, rows: true}
		l.byID[id] = t
		l.traces = append(l.traces, t)
	}
	return t
}

// Runs implements format.Records.
func (l *langfuseRows) Runs() (runs []format.Run) {
	ordered.Each(len(l.traces), l.size, func(i int) { l.traces[i].runs() })
	for _, t := range l.traces {
		if usage := langfuseUsage(t.run.Meta["trace"]); t.spans == nil && usage != (llm.Usage{}) {
			t.run.Meta["usage"] = usage.AppendJSON(nil)
		}
		if t.unread != nil {
			t.run.Meta["unread"] = t.unread.JSON()
		}
		more := t.run.More
		t.run.More = nil
		for _, run := range append([]format.Run{*t.run}, more...) {
			if l.lost {
				run.Gap = 1 // the missing messages may be of any conversation
			}
			runs = append(runs, run)
		}
	}
	return runs
}

// camelCase returns a row with the names of its members in camel case.
func camelCase(row json.RawMessage) json.RawMessage {
	if tree.Member(row, "trace_id") == nil && tree.Member(row, "session_id") == nil {
		return row
	}
	var o tree.Object
	for name, value := range tree.Members(row) {
		o.Add(cmp.Or(camelNames[name], name), value)
	}
	return o.JSON()
}

// camelNames are the names in snake case of the members that are read.
var camelNames = map[string]string{
	"trace_id": "traceId", "parent_observation_id": "parentObservationId", "start_time": "startTime", "usage_details": "usageDetails",
	"total_cost": "totalCost", "session_id": "sessionId", "project_id": "projectId",
}

// The columns of the tables. Each other column has the values of a score. From
// worker/src/features/database-read-stream in github.com/langfuse/langfuse.
var (
	observationColumns = columns("traceTags", "toolCalls", "toolCallNames", "comments", "traceTimestamp")
	traceColumns       = columns("tags", "comments")
)

func columns(lists ...string) map[string]bool {
	names := map[string]bool{"input": true, "output": true, "metadata": true}
	for _, name := range lists {
		names[name] = true
	}
	return names
}

// rowScores returns the scores of a row: the columns with a list of numbers. A score has several
// values if it was given several times; then it is their mean.
func rowScores(row json.RawMessage, known map[string]bool) (scores []format.Score) {
	for name, value := range tree.Members(row) {
		if known[name] || len(value) == 0 || value[0] != '[' {
			continue
		}
		n, sum := 0, 0.0
		for _, element := range tree.Elements(value) {
			v, err := strconv.ParseFloat(string(element), 64)
			if err != nil {
				n = 0
				break
			}
			n++
			sum += v
		}
		if n > 0 {
			score := format.ScoreOf(name, strconv.AppendFloat(nil, sum/float64(n), 'g', -1, 64))
			score.Raw = value
			scores = append(scores, score)
		}
	}
	return scores
}
