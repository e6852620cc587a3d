// Package plot draws plots as SVG without scripts. It escapes names. A plot is 360 units wide, so that
// its text is legible on a phone; the classes of its elements have no colors of their own, see [Style].
package plot

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

// Style is the style sheet of the plots. It defines the colors --ink, --faint, --line, --link, --good, --bad
// and --mixed, light and dark, which a page may use, too.
//
//go:embed plot.css
var Style string

// Dimensions of plots.
const (
	width        = 360
	marginLeft   = 44.0
	marginRight  = 10.0
	marginTop    = 40.0 // of the title of the vertical axis and of the legend
	marginBottom = 38.0 // of ticks and the title of the horizontal axis
	inner        = 170.0
	tickCount    = 5
	textHeight   = 12.0
)

// Point is a value at a position, with its interval if it has one.
type Point struct {
	X, Y     float64
	Interval *[2]float64
	Name     string // for [Scatter]
}

// Series are the points of one line or one color.
type Series struct {
	Name   string
	Points []Point
}

// canvas is a plot that is drawn.
type canvas struct {
	strings.Builder

	height float64
}

// element returns the plot with its caption. The description is for readers of the screen.
func (c *canvas) element(caption, description string) string {
	caption = html.EscapeString(caption)
	return fmt.Sprintf("<figure class=\"plot\"><figcaption>%s</figcaption>\n<svg viewBox=\"0 0 %d %s\" role=\"img\"><title>%s</title><desc>%s</desc>\n%s</svg></figure>\n",
		caption, width, number(c.height), caption, html.EscapeString(description), c.String())
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	_, _ = fmt.Fprintf(c, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", class, number(x1), number(y1), number(x2), number(y2))
}

// text draws a text; anchor is start, middle or end.
func (c *canvas) text(anchor string, x, y float64, text string) {
	_, _ = fmt.Fprintf(c, "<text text-anchor=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", anchor, number(x), number(y), html.EscapeString(text))
}

// horizontal draws the horizontal axis at the bottom y, with lines up to the top.
func (c *canvas) horizontal(a axis, top, y float64, title string) {
	for _, v := range a.ticks() {
		x := a.at(v)
		c.line("grid", x, top, x, y)
		anchor := "middle"
		const edge = 16
		switch {
		case x > width-edge:
			anchor = "end"
		case x < edge:
			anchor = "start"
		}
		c.text(anchor, x, y+textHeight+3, a.label(v))
	}
	c.line("axis", a.from, y, a.to, y)
	const half = 2
	c.text("middle", (a.from+a.to)/half, y+marginBottom-6, title)
}

// vertical draws the vertical axis at the left.
func (c *canvas) vertical(a axis, title string) {
	for _, v := range a.ticks() {
		c.line("grid", marginLeft, a.at(v), width-marginRight, a.at(v))
		c.text("end", marginLeft-5, a.at(v)+4, a.label(v))
	}
	c.text("start", 0, textHeight, title)
}

// legend draws the names of series below the title of the vertical axis, if there are several.
func (c *canvas) legend(all []Series, dots bool) {
	if len(all) < 2 {
		return
	}
	const character, mark, y = 6.6, 24.0, 25.0
	x := 0.0
	for i, s := range all {
		if dots {
			c.circle(fmt.Sprint("dot s", i), x+mark-6, y-4, 3, s.Name)
		} else {
			c.line(fmt.Sprint("curve s", i), x, y-4, x+mark, y-4)
		}
		c.text("start", x+mark+4, y, s.Name)
		x += mark + character*float64(len([]rune(s.Name))) + 16
	}
}

// circle draws a circle with a tooltip.
func (c *canvas) circle(class string, x, y, r float64, tip string) {
	_, _ = fmt.Fprintf(c, "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"%s\"><title>%s</title></circle>\n", class, number(x), number(y), number(r), html.EscapeString(tip))
}
