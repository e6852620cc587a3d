package general

import (
	"regexp"
	"slices"
	"strings"

	"github.com/k3a/html2text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Characters that no text has, for what html2text does not keep.
const (
	keptSpace = "\uFDD0"
	keptTab   = "\uFDD1"
	keptLine  = "\uFDD2"
	edge      = "\uFDD3" // of a block
)

var (
	keep    = strings.NewReplacer(" ", keptSpace, "\t", keptTab, "\n", keptLine)
	restore = strings.NewReplacer(keptSpace, " ", keptTab, "\t", keptLine, "\n")
	edges   = regexp.MustCompile("[ \n]*" + edge + "[ \n" + edge + "]*")
)

// htmlText returns the text of HTML. It has a line for each row of a table, with | between the cells, for each line of
// preformatted text and for each other block.
func htmlText(page string) string {
	if doc, err := html.Parse(strings.NewReader(page)); err == nil {
		markForm(doc, false)
		var b strings.Builder
		if html.Render(&b, doc) == nil {
			page = b.String()
		}
	}
	text := html2text.HTML2TextWithOptions(page, html2text.WithUnixLineBreaks(), html2text.WithLinksInnerText())
	text = edges.ReplaceAllStringFunc(text, func(between string) string {
		return strings.Repeat("\n", min(2, max(1, strings.Count(between, "\n"))))
	})
	return restore.Replace(strings.TrimSpace(text))
}

// blocks are the elements that begin and end a line, except those for which html2text does so.
var blocks = []atom.Atom{
	atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Caption, atom.Dd, atom.Details, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure,
	atom.Footer, atom.Form, atom.Header, atom.Hr, atom.Li, atom.Main, atom.Nav, atom.Ol, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Tr, atom.Ul,
}

// markForm puts the characters for spaces, lines, cells and blocks into the text below a node. The parser limits the
// depth of nodes.
func markForm(n *html.Node, isPre bool) {
	isPre = isPre || n.DataAtom == atom.Pre
	if n.Type == html.TextNode && isPre {
		n.Data = keep.Replace(n.Data)
	}
	cells := 0
	for c, next := n.FirstChild, (*html.Node)(nil); c != nil; c = next {
		next = c.NextSibling
		markForm(c, isPre)
		switch {
		case n.DataAtom == atom.Tr && c.Type == html.TextNode: // between cells, only space
			n.RemoveChild(c)
		case slices.Contains(blocks, c.DataAtom):
			n.InsertBefore(text(edge), c)
			n.InsertBefore(text(edge), next)
		case c.DataAtom == atom.Td || c.DataAtom == atom.Th:
			if cells++; cells > 1 {
				n.InsertBefore(text(keptSpace+"|"+keptSpace), c)
			}
			joinLines(c)
		}
	}
}

func text(of string) *html.Node { return &html.Node{Type: html.TextNode, Data: of} }

// joinLines replaces the line breaks of a cell without blocks, so that its row is one line.
func joinLines(cell *html.Node) {
	var breaks []*html.Node
	for d := range cell.Descendants() {
		switch {
		case d.DataAtom == atom.P || slices.Contains(blocks, d.DataAtom):
			return
		case d.DataAtom == atom.Br:
			breaks = append(breaks, d)
		}
	}
	for _, b := range breaks {
		b.Parent.InsertBefore(text(" "), b)
		b.Parent.RemoveChild(b)
	}
}
