package plot

import (
	"fmt"
	"math"

	"github.com/looptape/looptape/internal/tabular"
)

// Scatter is a plot of points of one or two series.
type Scatter struct {
	Title, X, Y string
	Unit        string // what a point is, such as case
	Series      []Series
}

// HTML returns the plot in HTML, or nothing if fewer than two points differ.
func (s *Scatter) HTML() string {
	var xs, ys []float64
	n, differ := 0, map[[2]float64]bool{}
	for _, series := range s.Series {
		for _, p := range series.Points {
			n++
			differ[[2]float64{p.X, p.Y}] = true
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	if len(differ) < 2 || !finite(append(xs, ys...)...) {
		return ""
	}
	c := &canvas{height: marginTop + inner + marginBottom}
	bottom := marginTop + inner
	x, y := newAxis(append(xs, 0), tickCount, marginLeft, width-marginRight), newAxis(append(ys, 0), tickCount, bottom, marginTop)
	c.vertical(y, s.Y)
	c.horizontal(x, bottom, bottom, s.X)
	c.legend(s.Series, true)
	for i, series := range s.Series {
		s.points(c, i, series.Points, x, y)
	}
	return c.element(s.Title, fmt.Sprintf("%s by %s of %d points, one per %s", s.Y, s.X, n, s.Unit))
}

// points draws the points. Points that nearly coincide are one larger circle.
func (s *Scatter) points(c *canvas, series int, points []Point, x, y axis) {
	const cell, radius, growth, maxRadius = 4.0, 3.0, 0.8, 9.0
	type place struct{ x, y int }
	first, count := map[place]Point{}, map[place]int{}
	var order []place
	for _, p := range points {
		at := place{int(x.at(p.X) / cell), int(y.at(p.Y) / cell)}
		if count[at]++; count[at] == 1 {
			first[at] = p
			order = append(order, at)
		}
	}
	for _, at := range order {
		p, n := first[at], count[at]
		tip := fmt.Sprintf("%s: %s, %s", p.Name, tabular.Brief(p.X), tabular.Brief(p.Y))
		if n > 1 {
			tip = fmt.Sprintf("%d %ss near %s, %s, such as %s", n, s.Unit, tabular.Brief(p.X), tabular.Brief(p.Y), p.Name)
		}
		c.circle(fmt.Sprint("dot s", series), x.at(p.X), y.at(p.Y), min(maxRadius, radius+growth*math.Log2(float64(n))), tip)
	}
}
