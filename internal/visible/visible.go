// Package visible escapes text from recordings and names of files that would have an effect where it is
// printed: on a terminal, in the log of a CI system, in CSV and in YAML.
package visible

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hidden reports whether a character controls a terminal or the direction of text, has no width, or ends a
// line in some programs only. A tab and a line feed are not hidden. The bidirectional ones are those of
// Unicode's annex 9, section 2. See [HasHidden] for the joiners in emoji and words.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case r == '\u00ad', '\u200b' <= r && r <= joiner, r == '\u2060', r == '\ufeff', 0xe0000 <= r && r <= 0xe007f:
		return true // of no width
	}
	return unicode.Is(unicode.Bidi_Control, r)
}

// joiner makes one emoji of two. It and nonJoiner determine the forms of letters.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// HasHidden reports whether text has a hidden character, apart from joiners between emoji and between letters
// of scripts whose words have them.
func HasHidden(text string) bool {
	for range hidden(text) {
		return true
	}
	return false
}

// hidden returns the hidden characters of text and their positions.
func hidden(text string) iter.Seq2[int, rune] {
	return func(yield func(int, rune) bool) {
		var before rune // without the sign that asks for an emoji
		for at, r := range text {
			if Hidden(r) {
				after, _ := utf8.DecodeRuneInString(text[at+utf8.RuneLen(r):])
				if !isJoining(before, r, after) && !yield(at, r) {
					return
				}
			}
			if r != '\ufe0f' {
				before = r
			}
		}
	}
}

// isJoining reports whether a hidden character is a joiner that its neighbors need.
func isJoining(before, r, after rune) bool {
	switch {
	case r != joiner && r != nonJoiner:
		return false
	case r == joiner && isEmoji(before) && isEmoji(after):
		return true
	}
	return slices.ContainsFunc(joined, func(script *unicode.RangeTable) bool { return isLetter(script, before) && isLetter(script, after) })
}

// joined are the scripts whose words have joiners.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Mongolian,
}

// isLetter reports whether r is a letter of a script or a vowel sign.
func isLetter(script *unicode.RangeTable, r rune) bool {
	return unicode.Is(script, r) && (unicode.IsLetter(r) || unicode.IsMark(r))
}

// isEmoji reports whether a character can be part of an emoji: a symbol, an arrow or a tone of skin.
func isEmoji(r rune) bool {
	return unicode.Is(unicode.So, r) && r != utf8.RuneError || r == '\u2194' || 0x1f3fb <= r && r <= 0x1f3ff
}

// Escaped returns text with each hidden character as an escape of Go, such as \x1b. The text is one line:
// a line feed is escaped too.
func Escaped(text string) string {
	return strings.ReplaceAll(escaped(text, escapeGo), "\n", `\n`)
}

// escaped returns text with an escape in place of each hidden character.
func escaped(text string, escape func(rune) string) string {
	var b strings.Builder
	from := 0
	for at, r := range hidden(text) {
		b.WriteString(text[from:at])
		b.WriteString(escape(r))
		from = at + utf8.RuneLen(r)
	}
	if from == 0 {
		return text
	}
	return b.String() + text[from:]
}

func escapeGo(r rune) string {
	quoted := strconv.QuoteRuneToASCII(r)
	return quoted[1 : len(quoted)-1]
}

// command is what a CI system obeys in a line of a log: `::` at its beginning and `##[` anywhere (GitHub
// Actions), `##vso[` (Azure Pipelines) and `##teamcity[` (TeamCity). A backslash makes it text.
var command = regexp.MustCompile(`(?m)^([\s\v\p{Z}]*)(::)|(#)(#(?:vso|teamcity)?\[)`)

// Text returns lines in which hidden characters are escaped, and which contain no command for a CI system.
// A carriage return before a line feed stays as it is.
func Text(text []byte) []byte {
	if bytes.ContainsFunc(text, Hidden) {
		text = []byte(escaped(strings.ReplaceAll(string(text), "\r\n", "\n"), escapeGo))
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

// Quoted returns JSON of the same meaning, in which hidden characters and commands are escaped. A carriage
// return stays as it is.
func Quoted(text []byte) []byte {
	return quoted(text, func(r rune) string {
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// QuotedYAML does the same with YAML that has hidden characters and commands in double quotes only.
func QuotedYAML(text []byte) []byte {
	return quoted(text, func(r rune) string {
		if r > 0xffff {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

func quoted(text []byte, escape func(rune) string) []byte {
	if bytes.Contains(text, []byte("##")) {
		text = quotedCommand.ReplaceAll(text, []byte(`\u0023$1`))
	}
	if !bytes.ContainsFunc(text, Hidden) {
		return text
	}
	return []byte(escaped(string(text), func(r rune) string {
		if r == '\r' {
			return "\r"
		}
		return escape(r)
	}))
}
