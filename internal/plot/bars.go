package plot

import (
	"fmt"
	"html"

	"github.com/looptape/looptape/internal/tabular"
)

// Bars is a plot of values around 0, such as the difference of each case.
type Bars struct {
	Title, X, Y string
	Rows        []Row // in order; their intervals are not shown
}

// HTML returns the plot in HTML, or nothing if all values are 0. Of many values it shows every n-th.
func (b *Bars) HTML() string {
	const maxBars = 300
	var values []float64
	nonzero := false
	for _, r := range b.Rows {
		values = append(values, r.Value)
		nonzero = nonzero || r.Value != 0
	}
	if !nonzero || !finite(values...) {
		return ""
	}
	n := min(len(values), maxBars)
	c := &canvas{height: marginTop + inner + marginBottom}
	bottom := marginTop + inner
	y := newAxis(append(values, 0), tickCount, bottom, marginTop)
	c.vertical(y, b.Y)
	const half, gap = 2, 0.2
	step := (width - marginLeft - marginRight) / float64(n)
	for i := range n {
		r := b.Rows[(half*i+1)*len(values)/(half*n)]
		if r.Value == 0 {
			continue
		}
		class, top, end := "up", y.at(r.Value), y.at(0)
		if r.Value < 0 {
			class, top, end = "down", end, top
		}
		_, _ = fmt.Fprintf(c, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s</title></rect>\n", class,
			number(marginLeft+step*float64(i)), number(top), number(step*(1-gap)), number(end-top), html.EscapeString(r.Name+": "+tabular.Brief(r.Value)))
	}
	c.line("axis", marginLeft, y.at(0), width-marginRight, y.at(0))
	c.text("middle", (marginLeft+width-marginRight)/half, bottom+textHeight+6, b.X)
	return c.element(b.Title, fmt.Sprintf("%s of %d values from %s to %s", b.Y, len(values), tabular.Brief(values[0]), tabular.Brief(values[len(values)-1])))
}
