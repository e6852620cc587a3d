package plot_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/plot"
)

// shapes returns the elements of a plot with their attributes, and the texts, except the grid.
func shapes(t *testing.T, figure string) (list []string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(figure))
	tag := ""
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v in %s", err, figure)
		}
		switch token := token.(type) {
		case xml.StartElement:
			words := []string{token.Name.Local}
			for _, a := range token.Attr {
				words = append(words, a.Value)
			}
			tag = strings.Join(words, " ")
			if tag != "title" && !strings.HasPrefix(tag, "text") && !strings.HasPrefix(tag, "line grid") {
				list = append(list, tag)
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" && tag != "" {
				list = append(list, strings.SplitN(tag, " ", 2)[0]+": "+text)
			}
		case xml.EndElement:
			tag = ""
		}
	}
}

func in(low, high float64) *[2]float64 { return &[2]float64{low, high} }

// The coordinates are computed by hand. Values of a forest plot are from x = 10 to 350; those of the others
// from x = 44 to 350, and from y = 210 up to 40.
func TestCoordinates(t *testing.T) {
	for name, c := range map[string]struct {
		figure string
		want   []string
	}{
		// -0.5 to 1.5 in steps of 0.5 is 170 units for each 1: 0 is at 95 and 0.5 at 180.
		"forest": {
			(&plot.Forest{Title: "Differences", Axis: "new", Zero: true, Rows: []plot.Row{{"a", .5, in(-.5, 1.5)}, {"b", 1, nil}}}).HTML(),
			[]string{
				"figure plot", "figcaption", "figcaption: Differences", "svg 0 0 360 118 img", "title: Differences",
				"desc", "desc: new. a: 0.5 (-0.5 to 1.5); b: 1",
				"text: -0.5", "text: 0", "text: 0.5", "text: 1.0", "text: 1.5", "line axis 10 80 350 80", "text: new", "line zero 95 0 95 80",
				"text: a", "text: 0.5 (-0.5 to 1.5)", "line interval 10 26 350 26", "circle mark 180 26 4", "title: a: 0.5 (-0.5 to 1.5)",
				"text: b", "text: 1", "circle mark 265 64 4", "title: b: 1",
			},
		},
		// k = 1, 2, 3 is x = 44, 197, 350; 0 to 1 is y = 210 to 40.
		"lines": {
			(&plot.Lines{Title: "pass", X: "k", Y: "rate", Rate: true, Series: []plot.Series{
				{Name: "hat", Points: []plot.Point{{X: 1, Y: .5, Interval: in(.4, .6)}, {X: 2, Y: .25, Interval: in(.1, .5)}, {X: 3, Y: 0, Interval: in(0, .2)}}},
				{Name: "at", Points: []plot.Point{{X: 1, Y: .5}, {X: 2, Y: 1, Name: "two"}}},
			}}).HTML(),
			[]string{
				"figure plot", "figcaption", "figcaption: pass", "svg 0 0 360 248 img", "title: pass",
				"desc", "desc: rate by k. hat: 0.5 (0.4 to 0.6), 0.25 (0.1 to 0.5), 0 (0 to 0.2); at: 0.5, 1",
				"text: 0", "text: 0.2", "text: 0.4", "text: 0.6", "text: 0.8", "text: 1.0", "text: rate", "text: 1", "text: 2", "text: 3",
				"line axis 44 210 350 210", "text: k",
				"line curve s0 0 21 24 21", "text: hat", "line curve s1 59.8 21 83.8 21", "text: at",
				"polygon band s0 44,108 197,125 350,176 350,210 197,193 44,142",
				"polyline curve s0 44,125 197,167.5 350,210",
				"circle mark 44 125 3", "title: hat at 1: 0.5 (0.4 to 0.6)", "circle mark 197 167.5 3", "title: hat at 2: 0.25 (0.1 to 0.5)", "circle mark 350 210 3", "title: hat at 3: 0 (0 to 0.2)",
				"polyline curve s1 44,125 197,40", "circle mark 44 125 3", "title: at at 1: 0.5", "circle mark 197 40 3", "title: two: 1",
			},
		},
		// 0 to 2 in steps of 0.5 is 153 units for each 1; 0 to 1 is y = 210 to 40. Two points coincide: 3 + 0.8 log2 2.
		"scatter": {
			(&plot.Scatter{Title: "score by cost", X: "cost", Y: "score", Unit: "case", Series: []plot.Series{
				{Points: []plot.Point{{X: 1, Y: 1, Name: "a"}, {X: 2, Y: .5, Name: "b"}, {X: 2, Y: .5, Name: "c"}}},
			}}).HTML(),
			[]string{
				"figure plot", "figcaption", "figcaption: score by cost", "svg 0 0 360 248 img", "title: score by cost",
				"desc", "desc: score by cost of 3 points, one per case",
				"text: 0", "text: 0.2", "text: 0.4", "text: 0.6", "text: 0.8", "text: 1.0", "text: score",
				"text: 0", "text: 0.5", "text: 1.0", "text: 1.5", "text: 2.0", "line axis 44 210 350 210", "text: cost",
				"circle dot s0 197 40 3", "title: a: 1, 1", "circle dot s0 350 125 3.8", "title: 2 cases near 2, 0.5, such as b",
			},
		},
		// -0.5 to 1 in steps of 0.5: 0 is at 210 - 170/3 = 153.3, -0.5 at 210, 1 at 40. Three bars of 102, with gaps of a fifth.
		"bars": {
			(&plot.Bars{Title: "cases", X: "case", Y: "difference", Rows: []plot.Row{{Name: "a", Value: -.5}, {Name: "b"}, {Name: "c", Value: 1}}}).HTML(),
			[]string{
				"figure plot", "figcaption", "figcaption: cases", "svg 0 0 360 248 img", "title: cases",
				"desc", "desc: difference of 3 values from -0.5 to 1",
				"text: -0.5", "text: 0", "text: 0.5", "text: 1.0", "text: difference",
				"rect down 44 153.3 81.6 56.7", "title: a: -0.5", "rect up 248 40 81.6 113.3", "title: c: 1",
				"line axis 44 153.3 350 153.3", "text: case",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, shapes(t, c.figure)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// There is no plot without anything to show.
func TestNothing(t *testing.T) {
	nan := math.NaN()
	for name, figure := range map[string]string{
		"no row":                 (&plot.Forest{Zero: true}).HTML(),
		"a row without a number": (&plot.Forest{Rows: []plot.Row{{Value: nan}, {Interval: in(nan, 1)}}}).HTML(),
		"no line":                (&plot.Lines{}).HTML(),
		"one point":              (&plot.Lines{Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: 1}}}}}).HTML(),
		"an infinite point":      (&plot.Lines{Series: []plot.Series{{Points: []plot.Point{{X: 1}, {X: 2, Y: math.Inf(1)}}}}}).HTML(),
		"equal points":           (&plot.Scatter{Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: 1}, {X: 1, Y: 1}}}}}).HTML(),
		"no difference":          (&plot.Bars{Rows: []plot.Row{{}, {}}}).HTML(),
	} {
		if figure != "" {
			t.Errorf("%s: got %s", name, figure)
		}
	}
}

// Many values are shown by some of them.
func TestManyBars(t *testing.T) {
	b := plot.Bars{}
	for i := range 10_000 {
		b.Rows = append(b.Rows, plot.Row{Name: "case", Value: float64(i - 5000)})
	}
	if n := strings.Count(b.HTML(), "<rect"); n != 300 {
		t.Errorf("got %d bars, want 300", n)
	}
}

// Any name and any values give well-formed SVG with coordinates within the plot.
func TestHostile(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"<script>", "</svg>", "\"", "'", "&", "]]>", "ä", "<!--", "{{script}}", strings.Repeat("x", 50)}), 0, 5), func(p []string) string { return strings.Join(p, "") })
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.Float64Range(-1e100, 1e100), rapid.SampledFrom([]float64{0, 1, -1, 1e-9, 0.1, 1e6}))
		name := text.Draw(rt, "name")
		var rows []plot.Row
		var points []plot.Point
		for i := range rapid.IntRange(1, 5).Draw(rt, "n") {
			v := value.Draw(rt, "value")
			rows = append(rows, plot.Row{Name: name, Value: v, Interval: in(v-1, v+1)})
			points = append(points, plot.Point{X: float64(i + 1), Y: v, Name: name})
		}
		s := []plot.Series{{Name: name, Points: points}}
		for _, figure := range []string{
			(&plot.Forest{Title: name, Axis: name, Rows: rows}).HTML(),
			(&plot.Lines{Title: name, X: name, Y: name, Series: s}).HTML(),
			(&plot.Scatter{Title: name, X: name, Y: name, Unit: name, Series: s}).HTML(),
			(&plot.Bars{Title: name, X: name, Y: name, Rows: rows}).HTML(),
		} {
			for _, shape := range shapes(t, figure) {
				if strings.HasPrefix(shape, "script") || strings.Contains(shape, "NaN") || strings.Contains(shape, "Inf") {
					rt.Fatalf("%s in %s", shape, figure)
				}
			}
			if n := strings.Count(figure, `<line class="grid"`); n > 20 {
				rt.Fatalf("%d ticks", n)
			}
		}
	})
}
