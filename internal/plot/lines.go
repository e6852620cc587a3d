package plot

import (
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/tabular"
)

// Lines is a plot of curves with bands of their intervals. The values of X are whole numbers.
type Lines struct {
	Title, X, Y string
	Rate        bool     // the vertical axis goes from 0 to 1
	Series      []Series // up to four, each in the order of X
}

// HTML returns the plot in HTML, or nothing if no series has two points.
func (l *Lines) HTML() string {
	var xs, ys []float64
	most := 0
	for _, s := range l.Series {
		most = max(most, len(s.Points))
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if p.Interval != nil {
				ys = append(ys, p.Interval[:]...)
			}
		}
	}
	if most < 2 || !finite(append(xs, ys...)...) {
		return ""
	}
	c := &canvas{height: marginTop + inner + marginBottom}
	bottom := marginTop + inner
	x := newCounted(xs, tickCount, marginLeft, width-marginRight)
	if l.Rate {
		ys = append(ys, 0, 1)
	}
	y := newAxis(ys, tickCount, bottom, marginTop)
	c.vertical(y, l.Y)
	c.horizontal(x, bottom, bottom, l.X)
	c.legend(l.Series, false)
	for i, s := range l.Series {
		c.band(i, s.Points, x, y)
	}
	var words []string
	for i, s := range l.Series {
		c.curve(i, s, x, y)
		words = append(words, s.description())
	}
	return c.element(l.Title, fmt.Sprintf("%s by %s. %s", l.Y, l.X, strings.Join(words, "; ")))
}

// band draws the intervals, if all points have one.
func (c *canvas) band(series int, points []Point, x, y axis) {
	var upper, lower []string
	for i, p := range points {
		if p.Interval == nil {
			return
		}
		upper = append(upper, number(x.at(p.X))+","+number(y.at(p.Interval[1])))
		q := points[len(points)-1-i]
		if q.Interval != nil {
			lower = append(lower, number(x.at(q.X))+","+number(y.at(q.Interval[0])))
		}
	}
	_, _ = fmt.Fprintf(c, "<polygon class=\"band s%d\" points=\"%s\"/>\n", series, strings.Join(append(upper, lower...), " "))
}

// curve draws the line, and circles with tooltips unless there are many.
func (c *canvas) curve(series int, s Series, x, y axis) {
	const maxCircles = 40
	var points []string
	for _, p := range s.Points {
		points = append(points, number(x.at(p.X))+","+number(y.at(p.Y)))
	}
	_, _ = fmt.Fprintf(c, "<polyline class=\"curve s%d\" points=\"%s\"/>\n", series, strings.Join(points, " "))
	if len(points) > maxCircles {
		return
	}
	for _, p := range s.Points {
		name := p.Name
		if name == "" {
			name = s.Name + " at " + tabular.Brief(p.X)
		}
		c.circle("mark", x.at(p.X), y.at(p.Y), 3, name+": "+describe(p.Y, p.Interval))
	}
}

// description lists the first values.
func (s *Series) description() string {
	const maxValues = 20
	words := []string{}
	for i, p := range s.Points {
		if i == maxValues {
			words = append(words, "…")
			break
		}
		words = append(words, describe(p.Y, p.Interval))
	}
	return s.Name + ": " + strings.Join(words, ", ")
}
