// Package visible escapes text from recordings and names of files that would have an effect where it is
// printed: on a terminal, in the log of a CI system, in CSV and in YAML.
package visible

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character controls a terminal or the direction of text, or ends a line in
// some programs only. A tab and a line feed are not hidden. The bidirectional ones are those of
// Unicode's annex 9, section 2.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff':
		return true
	}
	return unicode.Is(unicode.Bidi_Control, r)
}

// Escaped returns text with each hidden character as an escape of Go, such as \x1b. The text is one line:
// a line feed is escaped too.
func Escaped(text string) string {
	return escaped(text, func(r rune) bool { return r == '\n' || Hidden(r) })
}

func escaped(text string, hidden func(rune) bool) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// command is what a CI system obeys in a line of a log: `::` at its beginning and `##[` anywhere (GitHub
// Actions), `##vso[` (Azure Pipelines) and `##teamcity[` (TeamCity). A backslash makes it text.
var command = regexp.MustCompile(`(?m)^([\s\v\p{Z}]*)(::)|(#)(#(?:vso|teamcity)?\[)`)

// Text returns lines in which hidden characters are escaped, and which contain no command for a CI system.
// A carriage return before a line feed stays as it is.
func Text(text []byte) []byte {
	if bytes.ContainsFunc(text, Hidden) {
		lines := strings.ReplaceAll(string(text), "\r\n", "\n")
		text = []byte(escaped(lines, Hidden))
	}
	return Commands(text)
}

// Commands returns text without commands for a CI system.
func Commands(text []byte) []byte {
	if !bytes.Contains(text, []byte("::")) && !bytes.Contains(text, []byte("##")) {
		return text
	}
	return command.ReplaceAll(text, []byte(`$1$3\$2$4`))
}

// JSON returns JSON of the same meaning in which strings have escapes for hidden characters and for
// commands.
func JSON(text []byte) []byte {
	if text = Quoted(text); !bytes.Contains(text, []byte("##")) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("##"), []byte(`#\u0023`))
}

// JSONWriter returns a writer that writes JSON as [JSON] returns it. Each Write has whole strings, as those of
// a json.Encoder have.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := w.Writer.Write(JSON(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// quotedCommand is what a CI system obeys anywhere in a line.
var quotedCommand = regexp.MustCompile(`#(#(?:vso|teamcity)?\[)`)

// IsCommand reports whether text has a command for a CI system.
func IsCommand(text string) bool { return command.MatchString(text) }

// Quoted returns JSON of the same meaning, or YAML with hidden characters and commands in double quotes only,
// in which they are escaped. A carriage return stays as it is.
func Quoted(text []byte) []byte {
	if bytes.Contains(text, []byte("##")) {
		text = quotedCommand.ReplaceAll(text, []byte(`\u0023$1`))
	}
	if !bytes.ContainsFunc(text, Hidden) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if Hidden(r) && r != '\r' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}
