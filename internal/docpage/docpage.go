// Package docpage reads the examples of pages in docs, for the tests that run them.
package docpage

import (
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Lang, Text string
	File       string // the name in backquotes that, with a colon, ends the line before; empty for a console block
	From, To   int    // the place of Text in the page
	Line       int    // of the fence, from 1
}

var (
	fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	named = regexp.MustCompile("`([A-Za-z0-9_./-]+)`:\n*$")
)

// Blocks returns the blocks of a page, in order.
func Blocks(page string) (list []Block) {
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		b := Block{Lang: page[m[2]:m[3]], Text: page[m[4]:m[5]], From: m[4], To: m[5], Line: 1 + strings.Count(page[:m[0]], "\n")}
		if n := named.FindStringSubmatch(page[:m[0]]); n != nil && b.Lang != "console" {
			b.File = n[1]
		}
		list = append(list, b)
	}
	return list
}

// Prose returns a page without its blocks.
func Prose(page string) string { return fence.ReplaceAllString(page, "") }

// Command is a command of a console block.
type Command struct {
	Text   string
	Output string // up to the next command
}

var command = regexp.MustCompile(`(?m)^\$ (.*)\n((?:[^$\n].*\n|\n)*)`)

// Commands returns the commands of the text of a console block. Each follows "$ ".
func Commands(console string) (list []Command) {
	for _, m := range command.FindAllStringSubmatch(console, -1) {
		list = append(list, Command{m[1], m[2]})
	}
	return list
}
