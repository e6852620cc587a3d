package page

import (
	"cmp"
	"maps"
	"slices"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
)

type data struct {
	Title     string         `json:"title"`
	Notes     []string       `json:"notes"`
	Summary   *evals.Summary `json:"summary"` // without the metrics
	Metrics   []metric       `json:"metrics"`
	Cases     []evCase       `json:"cases"`
	Against   bool           `json:"against"` // there is a base
	Failures  []table        `json:"failures"`
	Resources []table        `json:"resources"`
	// OnlyBase and OnlyNew are the cases of one set only.
	OnlyBase []string `json:"only_base,omitempty"`
	OnlyNew  []string `json:"only_new,omitempty"`
	// Chunks are the numbers of the first transcripts of the chunks.
	Chunks []int `json:"chunks"`
}

type metric struct {
	Name       string        `json:"name"`
	Success    bool          `json:"success"`    // a success metric
	Statistics *evals.Metric `json:"statistics"` // nil if only the base has it
	Change     *evals.Change `json:"change"`     // nil if there is no base
}

type table struct {
	Caption string     `json:"caption"`
	Header  []string   `json:"header"`
	Rows    [][]string `json:"rows"`
}

// evCase are the runs of a case, those of the base first.
type evCase struct {
	Name string `json:"name"`
	// Asked is the beginning of the first user message; empty without a transcript.
	Asked string `json:"asked,omitempty"`
	Runs  []run  `json:"runs"`
}

// run is a run, and the number of its transcript, which is negative if the page has none.
type run struct {
	report.Run

	Transcript int `json:"transcript"`
	// Labels are the labels of people by metric.
	Labels map[string]float64 `json:"labels,omitempty"`
}

type gathered struct {
	data

	transcripts []*said
	shared      map[string]string
}

// gather collects the content in an order that depends only on the runs.
func (p *Page) gather() *gathered {
	g := &gathered{shared: map[string]string{}, data: data{Chunks: []int{}}}
	summary := *p.Report.Summary
	summary.Metrics, summary.Resources = nil, nil // shown elsewhere
	g.Title, g.Notes, g.Summary = p.Title, p.Notes(), &summary
	g.cases(p)
	g.metrics(p.Report)
	g.Failures, g.Resources = failures(p.Report), resources(p.Report)
	if c := p.Report.Comparison; c != nil {
		g.Against, g.OnlyBase, g.OnlyNew = true, c.OnlyBase, c.OnlyNew
		g.Summary.Unreadable = c.Unreadable
	}
	return g
}

func (g *gathered) cases(p *Page) {
	cases := map[string]*evCase{}
	for row, r := range p.said() {
		c := cases[row.Case]
		if c == nil {
			c = &evCase{Name: row.Case}
			cases[row.Case] = c
		}
		shown := run{Run: row, Transcript: -1}
		if row.Set != "base" {
			shown.Labels = p.Report.Summary.LabelsOf(row.Row)
		}
		if r != nil {
			shown.Transcript = len(g.transcripts)
			g.transcripts = append(g.transcripts, r)
			c.Asked = cmp.Or(c.Asked, r.asked)
			maps.Copy(g.shared, r.shared)
		}
		c.Runs = append(c.Runs, shown)
	}
	g.Cases = []evCase{}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		g.Cases = append(g.Cases, *cases[name])
	}
}

func (g *gathered) metrics(r *report.Report) {
	g.Metrics = []metric{}
	for _, name := range r.Metrics() {
		m := metric{Name: name, Success: r.IsSuccess(name)}
		if f, ok := r.Summary.Metrics[name]; ok {
			m.Statistics = &f
		}
		if r.Comparison != nil {
			change := r.Comparison.Metrics[name]
			m.Change = &change
		}
		g.Metrics = append(g.Metrics, m)
	}
}

// failures returns the tables of labels and of failures that have rows.
func failures(r *report.Report) []table {
	list := []table{}
	if t := report.LabelTable(r.Summary); len(t.Rows) > 0 {
		list = append(list, table{"Labels of people", t.Header, t.Rows})
	}
	captions := []string{"Failures by cause", "Failures by tool", "Failures by tag"}
	const maxGroups = 100
	for i, t := range r.FailureTables(report.Lists{Max: maxGroups, All: "eval report --cases 0 lists all"}) {
		if len(t.Rows) > 0 {
			list = append(list, table{captions[i], t.Header, t.Rows})
		}
	}
	return list
}

// resources returns the resource tables that have rows.
func resources(r *report.Report) []table {
	list, tables := []table{}, r.ResourceTables()
	for _, caption := range []string{"Changed resources", "Changed tool calls per run", "Resources"} {
		if t := tables[caption]; len(t.Rows) > 0 {
			list = append(list, table{caption, t.Header, t.Rows})
		}
	}
	return list
}
