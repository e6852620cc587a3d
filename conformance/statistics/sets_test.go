package statistics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
)

// set is a base and a new set of rows, and settings.
type set struct {
	Base       []row    `json:"base"`
	New        []row    `json:"new"`
	Labels     []row    `json:"labels"`     // of people, for the new set
	Lower      []string `json:"lower"`      // metrics for which less is better
	Difference float64  `json:"difference"` // to plan for; 0 means no plan
	Alpha      float64  `json:"alpha"`
	Power      float64  `json:"power"`
	Gate       limits   `json:"gate"`
	Plan       *plan    `json:"plan"` // before there are runs; may be nil

	metrics  []string
	clusters bool
}

// plan is a change of the rate of cases with this number of runs.
type plan struct {
	Rate   float64 `json:"rate"`
	ICC    float64 `json:"icc"`
	Effect float64 `json:"effect"`
	Trials int     `json:"trials"`
}

// limits are those of a gate with these names.
type limits struct {
	Alpha  float64 `json:"alpha"`
	Drop   float64 `json:"drop"`
	Detect float64 `json:"detect"` // 0 means none
}

// row is a run: its case, epoch and cluster, and its scores. A score that is not a number counts as failed.
type row map[string]any

// member matches the name of a metric in a path.
var member = regexp.MustCompile(`\.m\d`)

func (s *set) line(t *testing.T) []byte { return marshal(t, s) }

func (s *set) rows() []byte {
	var text bytes.Buffer
	for _, r := range append(append([]row{}, s.Base...), s.New...) {
		line, _ := json.Marshal(r)
		text.Write(append(line, '\n'))
		if text.Len() > 3000 {
			text.WriteString("…")
			break
		}
	}
	return text.Bytes()
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	line, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return append(line, '\n')
}

// generator draws a set.
type generator struct{ *rand.Rand }

func pick[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

// generate returns the set of this number.
func generate(seed, number uint64) *set {
	g := generator{rand.New(rand.NewPCG(seed, number))} //nolint:gosec // test data
	s := &set{Lower: []string{}, Alpha: pick(g, 0.05, 0.05, 0.01, 0.1), Power: pick(g, 0.8, 0.8, 0.9)}
	s.Difference = pick(g, 0, 0.15, -0.2, 0.3)
	if s.Difference != 0 {
		rate := 0.5 - s.Difference/2 + pick(g, -0.3, -0.1, 0, 0.2, 0.3)
		s.Plan = &plan{Rate: rate, ICC: pick(g, 0, 0.3, 0.5, 1), Effect: s.Difference, Trials: 1 + g.IntN(6)}
	}
	cases := pick(g, 1, 2, 2, 3, 4, 5, 8, 12, 20, 40, 80)
	// McNemar's test is for single runs of independent cases, and shows nothing for few of them.
	paired := number%4 == 0
	if paired {
		cases = max(8, cases)
	}
	names := map[int]string{}
	if s.clusters = !paired && g.IntN(3) == 0; s.clusters {
		groups := 1 + g.IntN(cases)
		for i := range cases {
			names[i] = "group " + strconv.Itoa(g.IntN(groups))
		}
	}
	runs := [2]func() int{g.runs(), g.runs()}
	if g.IntN(2) == 0 {
		runs[1] = runs[0]
	}
	if paired {
		runs[0], runs[1] = once, once
	}
	absent := pick(g, 0, 0, 0, 0.2) // share of the cases that one set lacks
	sets := [2][]row{}
	for i := range cases {
		for j := range sets {
			if i > 0 && g.Float64() < absent {
				continue
			}
			for epoch := range runs[j]() {
				r := row{"case": fmt.Sprintf("case %d", i), "epoch": epoch}
				if s.clusters {
					r["cluster"] = names[i]
				}
				sets[j] = append(sets[j], r)
			}
		}
	}
	for m := range 1 + g.IntN(3) {
		name := "m" + strconv.Itoa(m)
		s.metrics = append(s.metrics, name)
		if g.IntN(4) == 0 {
			s.Lower = append(s.Lower, name)
		}
		value := g.values()
		if paired && m == 0 {
			value = g.passes(0.2+0.6*g.Float64(), 0.5)
		}
		g.score(sets, name, value)
	}
	if g.IntN(4) == 0 {
		g.pairwise(s, sets)
	}
	s.Labels = g.labels(s.metrics[0], sets[1])
	for _, rows := range sets {
		g.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	s.Base, s.New = sets[0], sets[1]
	s.Gate = limits{pick(g, 0.05, 0.1, 0.3), pick(g, 0, 0.02, 0.2), pick(g, 0, 0.1, 0.3, 0.6)}
	return s
}

// pairwise draws the metrics of a pairwise scorer.
func (g generator) pairwise(s *set, sets [2][]row) {
	const name = "m7"
	tie := pick(g, 0, 0.3, 1)
	passes := g.passes(g.Float64(), 0.3)
	g.score(sets, name, func(difficulty, shift float64) float64 {
		if g.Float64() < tie {
			return 0.5
		}
		return passes(difficulty, shift)
	})
	s.metrics = append(s.metrics, name)
	for _, more := range []string{name + ".first", name + ".split"} {
		g.score(sets, more, g.passes(0.5, 0))
		s.metrics = append(s.metrics, more)
	}
}

// labels draws labels of a metric for some runs, most of which equal the score.
func (g generator) labels(metric string, rows []row) []row {
	list := []row{}
	labeled := pick(g, 0, 0.3, 0.7, 1)
	for _, r := range rows {
		if g.Float64() >= labeled {
			continue
		}
		label, ok := r[metric].(float64)
		if !ok || g.Float64() < 0.2 {
			label = float64(g.IntN(2))
		}
		list = append(list, row{"case": r["case"], "epoch": r["epoch"], "metric": metric, "label": label})
	}
	return list
}

func once() int { return 1 }

// runs returns the number of runs of a case: one, some, or a different number for each case.
func (g generator) runs() func() int {
	n := 1 + g.IntN(5)
	return pick(g, once, func() int { return n }, func() int { return 1 + g.IntN(n) })
}

// score draws the scores of a metric of both sets. At least the first run of each set has one.
func (g generator) score(sets [2][]row, name string, value func(difficulty, shift float64) float64) {
	unscored := pick(g, 0, 0, 0.05, 0.3)
	shift := pick(g, 0, 0, 0.1, -0.3)
	difficulty := map[any]float64{}
	for j, rows := range sets {
		for i, r := range rows {
			if _, ok := difficulty[r["case"]]; !ok {
				difficulty[r["case"]] = g.Float64()
			}
			switch {
			case i > 0 && g.Float64() < unscored/4:
				r[name] = "no score" // an error
			case i == 0 || g.Float64() >= unscored:
				r[name] = value(difficulty[r["case"]], shift*float64(j))
			}
		}
	}
}

// passes returns how successes are drawn at a rate, with a share of the runs that depend on the case alone.
func (g generator) passes(rate, similar float64) func(difficulty, shift float64) float64 {
	return func(difficulty, shift float64) float64 {
		x := g.Float64()
		if g.Float64() < similar {
			x = difficulty
		}
		if x < rate+shift {
			return 1
		}
		return 0
	}
}

// values returns how scores are drawn for the difficulty of a case and a shift.
func (g generator) values() func(difficulty, shift float64) float64 {
	passes := g.passes(pick(g, g.Float64(), g.Float64(), 0.02, 0.98, 0, 1), pick(g, 0, 0.5, 1))
	digits := math.Pow10(1 + g.IntN(3))
	scale := math.Pow10(g.IntN(6) - 1)
	return pick(g, passes, passes, passes,
		func(difficulty, shift float64) float64 { // from 0 to 1
			return math.Round(min(1, max(0, (difficulty+g.Float64())/2+shift))*digits) / digits
		},
		func(difficulty, shift float64) float64 { // any numbers
			return math.Round((difficulty+g.NormFloat64()+shift)*scale*digits) / digits
		},
		func(_, shift float64) float64 { return 2.5 + 0.1*math.Round(shift*10) }, // equal ones
	)
}
