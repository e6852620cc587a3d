package evals

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/yamljson"
	"github.com/looptape/looptape/trace/importer"
)

// Dataset contains what is expected of the runs of each case. It is joined with runs of recordings that
// lack it. A Dataset must not be changed and may be used by many goroutines.
type Dataset struct {
	// Ignored are the names of members that no row needs, sorted.
	Ignored []string

	name   string // of the file
	digest string
	cases  []datasetCase // in the order of the file
	// byCase and byPrompt find a case by its name and by its first user message. A message of several
	// cases leads to none.
	byCase, byPrompt map[string]*datasetCase
}

type datasetCase struct {
	name, cluster string
	line          int
	expected      importer.Expected
	tags          []string
}

// Members of a dataset, next to the usual names of rows.
const (
	memberCalls  = "calls"
	memberRubric = "rubric"
	memberState  = "state"
	memberTags   = "tags"
)

// ReadDataset reads a dataset: an ADK eval set, or rows in JSON Lines, a JSON array, CSV or YAML with
// the case, the prompt and the expected answer under the usual names of [importer.Mapping], and any of
//
//	calls    the expected tool calls: [{"name": "search", "arguments": {"q": "x"}}]; [] means none
//	rubric   criteria for the case, which a grader gets after those of all cases
//	state    the expected state, any JSON
//	tags     names of groups of cases: a list, or a text with commas
//	cluster  what cases share
//
// Other members are in Ignored. ReadDataset joins all errors, each an [*importer.Error]: also for a row
// without a case, a duplicate case, and a dataset that expects nothing and has no tags.
func ReadDataset(name string, r io.Reader) (*Dataset, error) {
	text, err := readWhole(name, r, "dataset")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))) // git writes either
	d := &Dataset{name: name, digest: hex.EncodeToString(sum[:8]), byCase: map[string]*datasetCase{}, byPrompt: map[string]*datasetCase{}}
	if text, err = jsonOfYAML(name, text); err != nil {
		return nil, err
	}
	src, err := importer.Open(name, bytes.NewReader(text))
	if err != nil || src.Format.Name != "adk-set" {
		src, err = importer.OpenRows(name, bytes.NewReader(text), &importer.Mapping{})
	}
	if err != nil {
		return nil, err
	}
	var wrong []error
	var prompts []string
	ignored := map[string]bool{}
	for run, err := range src.Runs() {
		c := datasetCase{line: run.Line}
		if err == nil {
			c, err = caseOf(&run)
		}
		if src.Format.Name != rowsFormat { // rows have no conversation
			for _, e := range run.Unknown {
				err = cmp.Or(err, error(e))
			}
		}
		if err != nil {
			wrong = append(wrong, located(name, run.Line, err))
			continue
		}
		if src.Format.Name == rowsFormat {
			for name := range run.Meta {
				ignored[name] = ignored[name] || !isRead(name)
			}
		}
		d.cases, prompts = append(d.cases, c), append(prompts, run.Prompt())
	}
	maps.DeleteFunc(ignored, func(_ string, is bool) bool { return !is })
	d.Ignored = slices.Sorted(maps.Keys(ignored))
	if len(wrong) == 0 {
		wrong = d.index(prompts)
	}
	return d, errors.Join(wrong...)
}

// rowsFormat is the name of the format of rows.
const rowsFormat = "rows"

// isRead reports whether ReadDataset reads a member of rows.
func isRead(name string) bool {
	return slices.Contains([]string{
		"task_id", "case", "id", "messages", "prompt", "question", "input", "expected", "target", "ideal", "reference",
		memberCalls, memberRubric, memberState, memberTags, "cluster",
	}, name)
}

// located returns an error with its file and line.
func located(name string, line int, err error) error {
	if _, is := errors.AsType[*importer.Error](err); is {
		return err
	}
	return &importer.Error{File: name, Line: line, Err: err}
}

// jsonOfYAML returns the JSON of a list in YAML, or another text as it is.
func jsonOfYAML(name string, text []byte) ([]byte, error) {
	if !isYAMLList(text) {
		return text, nil
	}
	text, err := yamljson.Document(text)
	if err != nil {
		return nil, &importer.Error{File: name, Err: err}
	}
	return text, nil
}

// isYAMLList reports whether a text begins as a list in YAML, after comments.
func isYAMLList(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return bytes.HasPrefix(line, []byte("- "))
		}
	}
	return false
}

// index finds duplicate cases and fills the maps.
func (d *Dataset) index(prompts []string) (wrong []error) {
	useful := false
	for i := range d.cases {
		c := &d.cases[i]
		if old := d.byCase[c.name]; old != nil {
			wrong = append(wrong, &importer.Error{File: d.name, Line: c.line, Err: fmt.Errorf("duplicate case %q: line %d has it", c.name, old.line)})
		}
		d.byCase[c.name] = c
		if prompt := prompts[i]; prompt != "" {
			if _, again := d.byPrompt[prompt]; again {
				c = nil
			}
			d.byPrompt[prompt] = c
		}
		useful = useful || d.cases[i].useful()
	}
	if !useful && len(wrong) == 0 {
		wrong = append(wrong, &importer.Error{File: d.name, Err: fmt.Errorf("no row has an expected answer, %s, %s, %s or %s", memberCalls, memberRubric, memberState, memberTags)})
	}
	return wrong
}

func (c *datasetCase) useful() bool {
	e := &c.expected
	return len(e.Answers)+len(e.Replies)+len(c.tags)+len(e.State) > 0 || e.Calls != nil || e.Criteria != ""
}

// caseOf reads a row, or a case of an ADK eval set.
func caseOf(run *importer.Run) (c datasetCase, err error) {
	c = datasetCase{name: run.Case, cluster: cmp.Or(run.Cluster, textOf(run.Meta["cluster"])), line: run.Line, expected: run.Expected}
	if c.name == "" {
		return c, errors.New("no case: give each row a name, such as {\"case\": \"capital\", …}")
	}
	if raw := valueOfText(run.Meta[memberCalls]); raw != nil {
		if c.expected.Calls, err = callsExpected(raw); err != nil {
			return c, fmt.Errorf("%s: %w", memberCalls, err)
		}
	}
	if raw := run.Meta[memberRubric]; raw != nil {
		if json.Unmarshal(raw, &c.expected.Criteria) != nil {
			return c, errors.New(memberRubric + ": want a text")
		}
	}
	c.expected.State = valueOfText(run.Meta[memberState])
	c.tags, err = tagsOf(run.Meta[memberTags])
	return c, err
}

// textOf returns a string, or "" for another value.
func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// valueOfText returns the JSON in a string, as CSV has it, or else the value.
func valueOfText(raw json.RawMessage) json.RawMessage {
	if text := textOf(raw); json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func callsExpected(raw json.RawMessage) ([]importer.Call, error) {
	var list []struct {
		Name      string          `json:"name"`
		Args      json.RawMessage `json:"args"`
		Arguments json.RawMessage `json:"arguments"`
		Turn      *int            `json:"turn"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("want a list such as [{\"name\": \"search\", \"arguments\": {}}]: %w", jsonio.Words(err))
	}
	calls := make([]importer.Call, len(list))
	for i, c := range list {
		arguments := c.Arguments
		if arguments == nil {
			arguments = c.Args
		}
		if c.Name == "" || arguments != nil && arguments[0] != '{' {
			return nil, fmt.Errorf("call %d: want a name, and arguments that are an object", i)
		}
		calls[i] = importer.Call{Name: c.Name, Arguments: arguments, Turn: importer.NoTurn}
		if c.Turn != nil {
			calls[i].Turn = *c.Turn
		}
	}
	return calls, nil
}

// tagsOf reads a list of tags, or a text with commas.
func tagsOf(raw json.RawMessage) (tags []string, err error) {
	text := textOf(raw)
	if strings.HasPrefix(text, "[") {
		raw, text = json.RawMessage(text), ""
	}
	switch {
	case text != "":
		tags = strings.Split(text, ",")
	case raw == nil || json.Unmarshal(raw, &tags) == nil:
	default:
		return nil, errors.New(memberTags + ": want a list of texts, or a text with commas")
	}
	for i := range tags {
		tags[i] = validText(strings.TrimSpace(tags[i]))
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return tag == "" })
	slices.Sort(tags)
	return slices.Compact(tags), nil
}

// scoringName identifies the dataset in results, since scores depend on it.
func (d *Dataset) scoringName() string { return "dataset sha256:" + d.digest }

// join sets what is expected of a run: that of the case with the name of the run, or else with its first
// user message, whose name the run gets. It returns nil if there is no such case.
func (d *Dataset) join(run *importer.Run) *datasetCase {
	c := d.byCase[run.CaseName()]
	if c == nil {
		c = d.byPrompt[run.Prompt()]
	}
	if c == nil {
		return nil
	}
	run.Case, run.Cluster = c.name, cmp.Or(c.cluster, run.Cluster)
	e := &run.Expected
	if len(c.expected.Answers)+len(c.expected.Replies) > 0 {
		e.Answers, e.Replies = c.expected.Answers, c.expected.Replies
	}
	if c.expected.Calls != nil {
		e.Calls = c.expected.Calls
	}
	e.Criteria, e.State = cmp.Or(c.expected.Criteria, e.Criteria), c.expected.State
	return c
}

// withoutRun returns a row for each case; Merge removes those of cases with a run.
func (d *Dataset) withoutRun(scorers []string) *Result {
	r := &Result{Scorers: scorers}
	for i := range d.cases {
		c := &d.cases[i]
		r.Rows.Add(&Row{Case: validText(c.name), Cluster: validText(c.cluster), NoRun: true, Tags: c.tags, File: d.name, Line: c.line})
	}
	return r
}

// missingAsZero is the name, among the scorers, of the setting that counts missing and failed scores as 0.
const missingAsZero = "missing and failed scores count as 0"

// fill gives the score 0 to each run without a score of a metric that another run has.
func (r *Result) fill() {
	metrics := r.metrics()
	r.Rows = r.Rows.each(func(row *Row) {
		values, wrong := maps.Collect(row.Scores.All()), maps.Collect(row.Errors.All())
		for _, metric := range metrics {
			if row.Scores.Has(metric) {
				continue
			}
			values[metric] = 0
			if !row.Errors.Has(metric) {
				wrong[metric] = "no score"
			}
		}
		row.Scores, row.Errors = newByName(values), newByName(wrong)
	})
}

// Unread returns the unreadable records, and the cases without a run unless they count as 0.
func (r *Result) Unread() []Unreadable {
	list := append([]Unreadable{}, r.Unreadable...)
	for row := range r.Rows.scanFor(withoutRun) {
		if !slices.Contains(r.Scorers, missingAsZero) {
			list = append(list, Unreadable{File: row.File, Line: row.Line, Error: fmt.Sprintf("no run of the case %q", row.Case)})
		}
	}
	sortUnreadable(list)
	return list
}

// Tags returns the tags of all rows, sorted.
func (r *Result) Tags() []string {
	tags := map[string]bool{}
	for row := range r.Rows.scanFor(withTags) {
		for _, tag := range row.Tags {
			tags[tag] = true
		}
	}
	return slices.Sorted(maps.Keys(tags))
}

// Tagged returns the result of the cases with a tag. It shares memory with r. A [Gate] leaves the other cases
// out of the baseline.
func (r *Result) Tagged(tag string) *Result {
	tagged := r.where(func(row *Row) bool { return slices.Contains(row.Tags, tag) })
	tagged.whole = r
	return tagged
}

// others returns the names of the cases that Tagged omitted.
func (r *Result) others() map[string]bool {
	if r.whole == nil {
		return nil
	}
	names, own := r.whole.caseNames(), r.caseNames()
	maps.DeleteFunc(names, func(name string, _ bool) bool { return own[name] })
	return names
}

// where returns the result of some rows.
func (r *Result) where(has func(*Row) bool) *Result {
	return &Result{Scorers: r.Scorers, Rows: r.Rows.where(has), Unreadable: r.Unreadable}
}
