package evals

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/trace/importer"
)

// Labels are scores that people gave to runs. They must not be changed and may be used by many
// goroutines.
type Labels struct {
	// Ignored are the names of members that no row needs, sorted.
	Ignored []string

	name string // of the file
	rows []label
}

// label is a row of the file. Its epoch is importer.NoEpoch and its texts are empty if the row has none.
type label struct {
	of             string // the case
	epoch, line    int
	digest, metric string
	value          float64
}

// Members of a row of labels, next to the usual names of the case and the epoch of [importer.Mapping].
const (
	memberDigest = "digest"
	memberMetric = "metric"
	memberLabel  = "label"
)

// ReadLabels reads labels: rows in JSON Lines, a JSON array, CSV or YAML with the case and
//
//	label   the score that a person gives: a number, true or false
//	metric  the metric that the label is for; it may be omitted if runs have one metric only
//	epoch   the epoch of the run, or
//	digest  the Digest of a [Row] without an epoch; omitted for the only run of a case
//
// Other members are in Ignored. ReadLabels joins all errors, each an [*importer.Error].
func ReadLabels(name string, r io.Reader) (*Labels, error) {
	text, err := readWhole(name, r, "file of labels")
	if err == nil {
		text, err = jsonOfYAML(name, text)
	}
	if err != nil {
		return nil, err
	}
	src, err := importer.OpenRows(name, bytes.NewReader(text), &importer.Mapping{})
	if err != nil {
		return nil, err
	}
	l := &Labels{name: name}
	var wrong []error
	ignored := map[string]bool{}
	for run, err := range src.Runs() {
		var row label
		if err == nil {
			row, err = labelOf(&run)
		}
		if err != nil {
			wrong = append(wrong, located(name, run.Line, err))
			continue
		}
		l.rows = append(l.rows, row)
		for member := range run.Meta {
			if !slices.Contains([]string{"case", "task_id", "id", "epoch", memberDigest, memberMetric, memberLabel}, member) {
				ignored[member] = true
			}
		}
	}
	l.Ignored = slices.Sorted(maps.Keys(ignored))
	if len(l.rows) == 0 && len(wrong) == 0 {
		wrong = append(wrong, &importer.Error{File: name, Err: errors.New("no labels")})
	}
	return l, errors.Join(wrong...)
}

func labelOf(run *importer.Run) (label, error) {
	l := label{of: run.Case, epoch: run.Epoch, line: run.Line, digest: textOf(run.Meta[memberDigest]), metric: textOf(run.Meta[memberMetric])}
	raw := cmp.Or(textOf(run.Meta[memberLabel]), string(run.Meta[memberLabel]))
	switch {
	case l.of == "":
		return l, errors.New("no case: give each row the case of its run, such as {\"case\": \"capital\", …}")
	case raw == "true":
		l.value = 1
	case raw == "false":
	default:
		var err error
		if l.value, err = strconv.ParseFloat(raw, 64); err != nil || l.value-l.value != 0 {
			return l, fmt.Errorf("%s %s: want a number, true or false", memberLabel, cmp.Or(raw, "missing"))
		}
	}
	return l, nil
}

// Agreement compares the scores of a metric with the labels of people. Undefined values are nil (null),
// and Notes says why.
type Agreement struct {
	Labels   int `json:"labels"`             // labeled runs with a score
	Unscored int `json:"unscored,omitempty"` // labeled runs without a score
	// Agree is the share of labels that equal the score: the mean over cases, with Wilson's interval
	// for clusters.
	Agree *float64    `json:"agree"`
	CI95  *[2]float64 `json:"agree_ci95"`
	// Values are all scores and labels, sorted, and Counts[i][j] the number of runs with the score
	// Values[i] and the label Values[j]; null for more than 20 values.
	Values []float64 `json:"values"`
	Counts [][]int   `json:"counts"`
	// Kappa is Cohen's kappa. Its interval is that of independent runs: null if a case or a cluster has
	// several labels, and for less than 30 labels.
	Kappa     *float64    `json:"kappa"`
	KappaCI95 *[2]float64 `json:"kappa_ci95"`
	// Corrected is, for scores of 0 and 1, the mean over cases that people would find, by the scores
	// of all runs and the labels of some; see [stats.CorrectedRate].
	Corrected     *float64    `json:"corrected_mean"`
	CorrectedCI95 *[2]float64 `json:"corrected_mean_ci95"`
	Notes         []string    `json:"notes,omitempty"`

	labels map[runKey]float64
}

// minKappaLabels is the smallest number of labels for an interval of kappa, which is one for large samples.
const minKappaLabels = 30

// maxLabelValues is the largest number of values of a table of labels and scores.
const maxLabelValues = 20

// AddLabels compares the result of a summary with labels. It returns the labels that do not belong to one run and
// one metric, and adds them to the unreadable records.
func (f *Summary) AddLabels(r *Result, l *Labels) (unread []Unreadable, err error) {
	f.Labels = map[string]*Agreement{}
	metrics := r.metrics()
	runs := map[string][]Row{}
	for rows := range r.Cases() {
		runs[rows[0].Case] = rows
	}
	for _, row := range l.rows {
		if err := row.add(f.Labels, metrics, runs); err != nil {
			unread = append(unread, Unreadable{File: l.name, Line: row.line, Error: err.Error()})
		}
	}
	f.Unreadable = append(f.Unreadable, unread...)
	for metric, a := range f.Labels {
		if err := a.compute(r, metric); err != nil {
			return nil, fmt.Errorf("metric %q: %w", metric, err)
		}
	}
	return unread, nil
}

// add adds a label to those of its metric.
func (l *label) add(by map[string]*Agreement, metrics []string, runs map[string][]Row) error {
	metric, run, err := l.find(metrics, runs)
	if err != nil {
		return err
	}
	if by[metric] == nil {
		by[metric] = &Agreement{labels: map[runKey]float64{}}
	}
	if _, again := by[metric].labels[run.key()]; again {
		return fmt.Errorf("a second label of the metric %q for the same run of the case %q", metric, l.of)
	}
	by[metric].labels[run.key()] = l.value
	return nil
}

// LabelsOf returns the labels of a run by metric; nil if it has none.
func (f *Summary) LabelsOf(run *Row) (by map[string]float64) {
	for metric, a := range f.Labels {
		if label, ok := a.labels[run.key()]; ok {
			if by == nil {
				by = map[string]float64{}
			}
			by[metric] = label
		}
	}
	return by
}

// runKey identifies a run of a result.
type runKey struct {
	of     string
	epoch  int
	digest string
}

func (r *Row) key() runKey { return runKey{r.Case, r.Epoch, r.Digest} }

// find returns the metric and the run of a label.
func (l *label) find(metrics []string, runs map[string][]Row) (metric string, run *Row, err error) {
	metric = l.metric
	switch {
	case metric == "" && len(metrics) == 1:
		metric = metrics[0]
	case len(metrics) == 0:
		return "", nil, errors.New("no run has a metric")
	case metric == "":
		return "", nil, fmt.Errorf("no metric: the runs have the metrics %s", strings.Join(metrics, ", "))
	case !slices.Contains(metrics, metric):
		return "", nil, fmt.Errorf("no run has the metric %q: the metrics are %s", metric, strings.Join(metrics, ", "))
	}
	var found []*Row
	rows := runs[l.of]
	for i := range rows {
		row := &rows[i]
		if !row.NoRun && (l.epoch == importer.NoEpoch || l.epoch == row.Epoch) && (l.digest == "" || l.digest == row.Digest) {
			found = append(found, row)
		}
	}
	switch {
	case len(found) == 1:
		return metric, found[0], nil
	case len(found) == 0:
		return "", nil, fmt.Errorf("no such run of the case %q", l.of)
	}
	return "", nil, fmt.Errorf("%d runs of the case %q: give the label an epoch, or the digest that a score file has", len(found), l.of)
}

func (a *Agreement) compute(r *Result, metric string) error {
	var agree []stats.Row
	var pairs [][2]float64
	var items []stats.GradedItem
	binary := true
	for rows := range r.Cases() {
		scored := 0.0
		for i := range rows {
			if rows[i].Scores.Has(metric) {
				scored++
			}
		}
		for i := range rows {
			row := &rows[i]
			score, ok := row.Scores.Get(metric)
			label, labeled := a.labels[row.key()]
			switch {
			case !ok && labeled:
				a.Unscored++
				continue
			case !ok:
				continue
			}
			item := stats.GradedItem{Weight: 1 / scored, Positive: score == 1, Labeled: labeled, Label: label == 1}
			if row.Cluster != "" {
				item.Cluster = "cluster " + row.Cluster
			} else if scored > 1 {
				item.Cluster = "case " + row.Case
			}
			items = append(items, item)
			binary = binary && isBinary(score) && isBinary(label)
			if labeled {
				pairs = append(pairs, [2]float64{score, label})
				same := 0.0
				if score == label {
					same = 1
				}
				agree = append(agree, stats.Row{Case: row.Case, Epoch: i, Cluster: row.Cluster, Value: same})
			}
		}
	}
	if a.Labels = len(pairs); a.Labels == 0 {
		a.note("no labeled run has a score")
		return nil
	}
	s, err := stats.New(agree)
	if err != nil {
		return err
	}
	a.Agree, a.CI95 = new(s.CaseMeans().Mean()), known(ends(s.ClusterWilson(level)))
	a.count(pairs, s.Clusters() == s.Len())
	switch rate, ci, err := stats.CorrectedRate(items, level); {
	case !binary:
		a.note("no corrected mean: it needs scores and labels of 0 and 1")
	case err != nil:
		a.note("no corrected mean: " + err.Error())
	default:
		a.Corrected, a.CorrectedCI95 = &rate, &[2]float64{ci.Low, ci.High}
	}
	return nil
}

func (a *Agreement) note(text string) { a.Notes = append(a.Notes, text) }

func isBinary(x float64) bool { return x == 0 || x == 1 }

// count fills the table of scores and labels, and computes kappa.
func (a *Agreement) count(pairs [][2]float64, independent bool) {
	var values []float64
	for _, p := range pairs {
		values = append(values, p[0], p[1])
	}
	slices.Sort(values)
	if values = slices.Compact(values); len(values) > maxLabelValues {
		a.note(fmt.Sprintf("no kappa: more than %d different scores and labels", maxLabelValues))
		return
	}
	a.Values, a.Counts = values, make([][]int, len(values))
	for i := range a.Counts {
		a.Counts[i] = make([]int, len(values))
	}
	for _, p := range pairs {
		i, _ := slices.BinarySearch(values, p[0])
		j, _ := slices.BinarySearch(values, p[1])
		a.Counts[i][j]++
	}
	kappa, ci, err := stats.Kappa(a.Counts, level)
	if err != nil {
		a.note("no " + err.Error())
		return
	}
	a.Kappa = &kappa
	switch {
	case a.Labels < minKappaLabels:
		a.note(fmt.Sprintf("no interval of kappa: it needs %d labels", minKappaLabels))
	case !independent:
		a.note("no interval of kappa: a case or a cluster has several labels")
	default:
		a.KappaCI95 = &[2]float64{ci.Low, ci.High}
	}
}
