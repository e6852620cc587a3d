package redact

import (
	"iter"
	"strings"
)

// namesIn returns the words of text that are names of secrets.
func (o *Rules) namesIn(text string) (names []part) {
	for from, to := range stemWords(text) {
		if o.secrecy(kindBody, lastWords(text[max(0, from-maxName):to])) >= secretIfStrong {
			names = append(names, part{from: from, to: to})
		}
	}
	return names
}

// nearNames returns the parts of text in which one of the names can be the label of a value: the lines around
// it.
func (o *Rules) nearNames(text string, names []part) (parts []part) {
	if len(o.Secret) > 0 { // names without a stem
		return []part{{to: len(text)}}
	}
	for _, name := range names {
		p := part{from: linesBefore(text, name.from), to: linesAfter(text, name.to)}
		if last := len(parts) - 1; last >= 0 && p.from <= parts[last].to {
			parts[last].to = max(parts[last].to, p.to)
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// stemWords yields the beginnings and ends of the words of text that may be names of secrets.
func stemWords(text string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for to := 0; ; {
			from := nextStem(text, to)
			if from == len(text) {
				return
			}
			for from > to && isNameByte(text[from-1]) {
				from--
			}
			for to = from; to < len(text) && isNameByte(text[to]); {
				to++
			}
			if !yield(from, to) {
				return
			}
		}
	}
}

// nearBytes is the number of bytes in such lines, apart from the rest of a word.
const nearBytes = 1024

// nearLines is the number of lines before a name where its notation begins, and after it where the value
// may be. Empty ones do not count.
const nearLines = 4

// linesBefore returns the beginning of the lines before a position.
func linesBefore(text string, at int) int {
	first := max(0, at-nearBytes)
	for n := 0; n <= nearLines; {
		line := first + strings.LastIndexByte(text[first:at], '\n') + 1
		if line == first {
			return first
		}
		if strings.TrimSpace(text[line:at]) != "" {
			n++
		}
		at = line - 1
	}
	return at + 1
}

// linesAfter returns the end of the lines after a position.
func linesAfter(text string, at int) int {
	last := min(len(text), at+nearBytes)
	last += endOfWord(text[last:])
	for n := 0; n <= nearLines; {
		line := strings.IndexByte(text[at:last], '\n')
		if line < 0 {
			return last
		}
		if strings.TrimSpace(text[at:at+line]) != "" {
			n++
		}
		at += line + 1
	}
	return at
}

// endOfWord returns the length of the word at the beginning of text.
func endOfWord(text string) int {
	if end := strings.IndexAny(text, " \t\r\n"); end >= 0 {
		return end
	}
	return len(text)
}
