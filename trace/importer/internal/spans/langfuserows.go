package spans

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/message"
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
		t.run.Scores = append(t.run.Scores, t.rowScores(e, row)...)
	case isTrace:
		t.report(e, "the trace "+strconv.Quote(id)+" is in another row, too")
	default:
		t.spans = append(t.spans, recordedSpan{
			raw: row, id: tree.Scalar(row, "id"), parent: tree.Scalar(row, "parentObservationId"),
			used: langfuseResources(row), scores: t.rowScores(e, row),
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
		if t.spans == nil {
			langfuseResources(t.run.Meta["trace"]).moveTo(t.run.Meta)
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

// columns are those of the tables of observations and of traces, in lower case and without underscores. Each other
// column has the values of a score. From worker/src/features/database-read-stream in github.com/langfuse/langfuse.
var columns = makeColumns(`
	id traceId traceName traceTags traceTimestamp type name startTime endTime completionStartTime level statusMessage version release
	input output metadata model providedModelName internalModelId modelId modelParameters promptId promptName promptVersion
	latency timeToFirstToken tokensPerSecond usage unit usageDetails providedUsageDetails costDetails providedCostDetails
	inputUsage outputUsage totalUsage inputTokens outputTokens promptTokens completionTokens totalTokens tokenCount tokens
	inputCost outputCost totalCost calculatedInputCost calculatedOutputCost calculatedTotalCost inputPrice outputPrice totalPrice
	usagePricingTierId usagePricingTierName environment userId sessionId projectId parentObservationId createdAt updatedAt isDeleted
	toolDefinitions toolCalls toolCallNames comments tags bookmarked public timestamp externalId htmlPath eventTs
	observations observationCount errorCount warningCount defaultCount debugCount levelCounts`)

func makeColumns(names string) map[string]bool {
	columns := map[string]bool{}
	for _, name := range strings.Fields(strings.ToLower(names)) {
		columns[name] = true
	}
	return columns
}

// rowScores returns the scores of a row: the columns with a list of numbers. A score has several
// values if it was given several times; then it is their mean. It reports other values that may be scores.
func (t *langfuse) rowScores(e format.Element, row json.RawMessage) (scores []format.Score) {
	for name, value := range tree.Members(row) {
		if columns[strings.ReplaceAll(strings.ToLower(name), "_", "")] || message.IsEmpty(value) {
			continue
		}
		switch mean, isScore := meanOf(value); {
		case isScore:
			score := format.ScoreOf(name, strconv.AppendFloat(nil, mean, 'g', -1, 64))
			score.Raw = value
			scores = append(scores, score)
		case !isLabel(value):
			t.run.ReportUnknown(strings.TrimPrefix(e.Path+"."+name, "."), "the column is not one of Langfuse and not a list of numbers: it may have a score")
			t.run.Unknown[len(t.run.Unknown)-1].Line = e.Line
		}
	}
	return scores
}

// meanOf returns the mean of a list of numbers.
func meanOf(list json.RawMessage) (mean float64, ok bool) {
	n, sum := 0, 0.0
	for _, element := range tree.Elements(list) {
		v, err := strconv.ParseFloat(string(element), 64)
		if err != nil {
			return 0, false
		}
		n, sum = n+1, sum+v
	}
	return sum / float64(n), n > 0
}

// isLabel reports whether a value is a text, a boolean or a list of texts, without a number: it has no score.
func isLabel(value json.RawMessage) bool {
	if value[0] != '[' {
		return tree.IsText(value) && !isNumber(json.RawMessage(tree.String(value))) || value[0] == 't' || value[0] == 'f'
	}
	for _, element := range tree.Elements(value) {
		if !tree.IsText(element) {
			return false
		}
	}
	return true
}

func isNumber(value json.RawMessage) bool {
	_, err := strconv.ParseFloat(string(value), 64)
	return err == nil
}
