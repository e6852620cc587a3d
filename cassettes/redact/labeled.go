package redact

import (
	"regexp"
	"slices"
	"strings"
)

// labeled returns the values that words of text, Markdown, HTML or a command line name as secrets: in
// quotes after the name, in the next cell of a table, after a name in bold, in an input or meta element,
// and after a flag. Since such names also occur in other text, only a value that can be a secret counts.
func (o *Rules) labeled(text string) (parts []part) {
	add := func(name string, from, to int) {
		if s := min(o.secrecy(kindBody, name), secretIfLikely); s >= secretIfStrong && s.covers(text[from:to]) && !isLabel(text[from:to]) {
			parts = append(parts, part{from: from, to: to})
		}
	}
	for _, l := range labels {
		if !strings.Contains(text, l.sign) {
			continue
		}
		for _, at := range l.pattern.FindAllStringSubmatchIndex(text, -1) {
			add(lastWords(text[at[2]:at[3]]), at[4], at[5])
		}
	}
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "'\"`|")
		if i < 0 {
			break
		}
		at += i + 1
		if from, to, name := quotedValue(text, at-1); name != "" {
			add(name, from, to)
		}
	}
	if strings.Contains(text, "<") {
		for _, at := range tag.FindAllStringIndex(text, -1) {
			if name, from, to := field(text[at[0]:at[1]]); name != "" {
				add(name, at[0]+from, at[0]+to)
			}
		}
	}
	return parts
}

// labels are patterns with a name and a value, and what each match contains.
var labels = []struct {
	sign    string
	pattern *regexp.Regexp
}{
	{"**", regexp.MustCompile("\\*\\*([A-Za-z][\\w -]{1,40}):?\\*\\*:? +`?([^\\s`|]+)")},
	{" provided: ", regexp.MustCompile(`([A-Za-z][\w -]{1,40}) provided: ([^\s"']*[^\s"'.,;])`)},
	{"--", regexp.MustCompile(`--([A-Za-z][\w-]{1,40}) +["']?([^\s"'<>]+)`)},
	{"<t", regexp.MustCompile(`<t[dh][^<>]*>\s*([A-Za-z][\w -]{1,40}):?\s*</t[dh]>\s*<td[^<>]*>\s*(?:<code>)?([^\s<>]+)`)},
}

// quotedValue returns the value after a quote or the start of a cell at this place of text, and the
// name before it: password 'VALUE', API key: `VALUE`, or | password | VALUE |.
func quotedValue(text string, at int) (from, to int, name string) {
	line := text[max(0, at-maxName):at]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	from = at + 1
	rest := text[from:min(len(text), from+maxQuoted)]
	if text[at] == '|' {
		cell := strings.TrimLeft(rest, " `")
		from += len(rest) - len(cell)
		name, _, _ = strings.Cut(strings.TrimSpace(line[strings.LastIndexByte(line, '|')+1:]), "\n")
		name = strings.Trim(name, "*_`: ")
		if to = strings.IndexAny(cell, " `|\n"); to < 0 || !strings.Contains(line, "|") {
			return 0, 0, ""
		}
		return from, from + to, lastWords(name)
	}
	if to = strings.IndexByte(rest, text[at]); to < 0 || !strings.HasSuffix(line, " ") {
		return 0, 0, ""
	}
	line = strings.TrimRight(line, ": ")
	for _, verb := range []string{" is", " was", " provided"} {
		line = strings.TrimSuffix(line, verb)
	}
	return from, from + to, lastWords(line)
}

const maxQuoted = 256

// lastWords returns the last word of text, or the last two if the first of them says what the second is
// for, as in API key and public key.
func lastWords(text string) string {
	before, name := cutWord(text)
	_, owner := cutWord(before)
	for _, words := range [][]string{keyOwners, harmlessOwners} {
		if slices.Contains(words, strings.ToLower(owner)) {
			return owner + "_" + name
		}
	}
	return name
}

// cutWord returns the last word of text, and what precedes it.
func cutWord(text string) (before, word string) {
	text = strings.TrimRight(text, " ")
	from := len(text)
	for from > 0 && isNameByte(text[from-1]) {
		from--
	}
	return text[:from], text[from:]
}

// isLabel reports whether a value is the name of a secret, such as AWS_S3_SECRET.
func isLabel(value string) bool {
	return strings.Trim(value, nameSigns) == "" && strings.ContainsAny(value, "-_") && hasStem(plainName(value))
}

const nameSigns = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

var (
	tag       = regexp.MustCompile(`<(?i:input|meta)\s[^<>]+`)
	attribute = regexp.MustCompile(`(?i)\s(name|id|type|value|content)\s*=\s*\\*(?:"([^"\\]*)|'([^'\\]*)|([^\s"'\\>]+))`)
)

// field returns the name and the value of an input or meta element.
func field(element string) (name string, from, to int) {
	for _, at := range attribute.FindAllStringSubmatchIndex(element, -1) {
		group := 4
		for at[group] < 0 {
			group += 2
		}
		said := element[at[group]:at[group+1]]
		switch key := strings.ToLower(element[at[2]:at[3]]); {
		case key == "value", key == "content":
			from, to = at[group], at[group+1]
		case strings.EqualFold(name, "password"): // the type of the input
		case key == "name", name == "", strings.EqualFold(said, "password"):
			name = said
		}
	}
	if to == from {
		name = ""
	}
	return name, from, to
}
