package plot

import (
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/tabular"
)

// Row is a named value with its interval, if it has one.
type Row struct {
	Name     string
	Value    float64
	Interval *[2]float64
}

// Forest is a plot of values with intervals, one row each.
type Forest struct {
	Title, Axis string
	// Zero draws a line at 0, for differences.
	Zero bool
	Rows []Row
}

// HTML returns the plot in HTML, or nothing without a row.
func (f *Forest) HTML() string {
	var values []float64
	var rows []Row
	for _, r := range f.Rows {
		if !finite(r.Value) || r.Interval != nil && !finite(r.Interval[:]...) {
			continue
		}
		rows = append(rows, r)
		values = append(values, r.Value)
		if r.Interval != nil {
			values = append(values, r.Interval[:]...)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	if f.Zero {
		values = append(values, 0)
	}
	return f.draw(rows, newAxis(values, tickCount, 10, width-marginRight))
}

func (f *Forest) draw(rows []Row, x axis) string {
	const rowHeight, text, mark, nameLength = 38.0, 13.0, 26.0, 28
	bottom := rowHeight*float64(len(rows)) + 4
	c := &canvas{height: bottom + marginBottom}
	c.horizontal(x, 0, bottom, f.Axis)
	if f.Zero {
		c.line("zero", x.at(0), 0, x.at(0), bottom)
	}
	var words []string
	for i, r := range rows {
		y, value := rowHeight*float64(i), describe(r.Value, r.Interval)
		c.text("start", 0, y+text, tabular.Short(r.Name, nameLength))
		c.text("end", width, y+text, value)
		if r.Interval != nil {
			c.line("interval", x.at(r.Interval[0]), y+mark, x.at(r.Interval[1]), y+mark)
		}
		c.circle("mark", x.at(r.Value), y+mark, 4, r.Name+": "+value)
		words = append(words, r.Name+": "+value)
	}
	return c.element(f.Title, fmt.Sprintf("%s. %s", f.Axis, strings.Join(words, "; ")))
}
