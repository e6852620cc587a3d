package redact

import (
	"regexp"
	"strings"
)

// columns calls add with the values in the lines after a header of CSV or of a table with a name of secrets.
func columns(text string, names []part, add func(name string, from, to int)) {
	end := 0 // of the last header
	for _, name := range names {
		if name.from < end {
			continue
		}
		line := part{from: strings.LastIndexByte(text[:name.from], '\n') + 1, to: name.to + lineLength(text[name.to:])}
		end = line.to
		if header, sep := headerOf(text, line); header != nil {
			if sep == '|' && strings.Contains(text[line.from:line.to], " ") && !isRule(text[min(len(text), line.to+1):]) {
				continue
			}
			for at := line.to + 1; at < len(text); {
				row := part{from: at, to: at + lineLength(text[at:])}
				at = row.to + 1
				if sep == '|' && isRule(text[row.from:]) {
					continue
				}
				if !addRow(header, fields(text, row, sep, '"'), add) {
					break
				}
			}
		}
	}
}

// isRule reports whether the first line of text is a line of a table between the header and the rows.
func isRule(text string) bool { return strings.Trim(text[:lineLength(text)], "-+|: \r") == "" }

func lineLength(text string) int {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

// headerOf returns the names in a header of CSV and their separator, or nil for another line.
func headerOf(text string, line part) (header []string, sep byte) {
	said := text[line.from:line.to]
	at := strings.IndexAny(said, ",;\t|")
	if at < 0 || len(said) > maxHeader {
		return nil, 0
	}
	cells := fields(text, line, said[at], '"')
	for i, p := range cells {
		name := text[p.from:p.to]
		edge := said[at] == '|' && name == "" && (i == 0 || i == len(cells)-1)
		if !edge && !headerName.MatchString(name) {
			return nil, 0
		}
		header = append(header, name)
	}
	return header, said[at]
}

const maxHeader = 1024

// headerName matches the name of a column.
var headerName = regexp.MustCompile(`^[A-Za-z_][\w.-]*(?: [\w.-]+)?$`)

// insertRows calls add with the values of each INSERT in text that names its columns.
func insertRows(text string, add func(name string, from, to int)) {
	if !strings.Contains(text, "nsert") && !strings.Contains(text, "NSERT") {
		return
	}
	for _, at := range insert.FindAllStringSubmatchIndex(text, -1) {
		var header []string
		for _, p := range fields(text, part{from: at[2], to: at[3]}, ',', '\'') {
			header = append(header, text[p.from:p.to])
		}
		for from := at[1]; strings.HasPrefix(text[from:], "("); {
			row := part{from: from + 1, to: from + closingParenthesis(text[from:])}
			ofText := func(name string, from, to int) {
				if strings.IndexByte("'\"`", text[from-1]) >= 0 || isCode(text[from:to]) { // no expression
					add(name, from, to)
				}
			}
			if !addRow(header, fields(text, row, ',', '\''), ofText) {
				break
			}
			from = len(text) - len(strings.TrimLeft(strings.TrimPrefix(text[row.to:], ")"), ", \t\r\n"))
		}
	}
}

var insert = regexp.MustCompile(`(?i)\binsert\s+(?:\w+\s+)?into\s+[^\s(]+\s*\(([^()]+)\)\s*values\s*`)

// closingParenthesis returns the position of the parenthesis that ends a row, or the length of text.
func closingParenthesis(text string) int {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '\'':
			quoted = !quoted
		case text[i] == ')' && !quoted:
			return i
		}
	}
	return len(text)
}

// addRow calls add with the values of a row. It reports whether the row and the header have the same number of fields.
func addRow(header []string, row []part, add func(name string, from, to int)) bool {
	if len(header) != len(row) {
		return false
	}
	for i, p := range row {
		if p.from < p.to {
			add(lastWords(strings.Trim(header[i], "`\"[]")), p.from, p.to)
		}
	}
	return true
}

// fields returns the fields of a row, without spaces and quotes around them.
func fields(text string, row part, sep, quote byte) (list []part) {
	quoted := false
	from := row.from
	for i := row.from; i <= row.to; i++ {
		switch {
		case i < row.to && text[i] == quote:
			quoted = !quoted
		case i == row.to, text[i] == sep && !quoted:
			said := strings.TrimLeft(text[from:i], " \t\r\"'`")
			list = append(list, part{from: i - len(said), to: i - len(said) + len(strings.TrimRight(said, " \t\r\"'`"))})
			from = i + 1
		}
	}
	return list
}
