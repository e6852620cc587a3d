package redact

import (
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// assigned returns the values after the names of secrets in text: in a query, as in
// ?key=VALUE, after quoted members or plain words, as in "password": "VALUE" and
// API_KEY=VALUE. A value without quotes counts if it is long and has a digit, so that prose
// is unchanged. Within a long value, only short values are searched for. See nested for
// arrays and objects.
func (o *Rules) assigned(l *leaf) (parts []part) {
	v := valuesIn(l)
	colon, equals := nextOf(l.text, ":"), nextOf(l.text, "=")
	sign := func(from int) int { return min(colon.from(from), equals.from(from)) }
	in := nested{o: o, text: l.text}
	end := 0 // of the values so far
	for at := sign(0); at < len(l.text); at = sign(at + 1) {
		p := o.assignedAt(&v, at)
		if p.to > p.from && (p.to > end || p.to-p.from <= maxRandom) {
			parts = append(parts, p)
			end = max(end, p.to)
		}
		if l.text[at] == ':' {
			in.after(at)
		}
	}
	return append(parts, in.parts...)
}

// assignedAt returns the value after a colon or equals sign if the name before it is
// secret.
func (o *Rules) assignedAt(v *values, at int) part {
	l := v.l
	k := kindBody
	name, quote := nameBefore(l.text[:at])
	if l.text[at] == '=' {
		if field, ok := queryName(l.text[:at]); ok {
			k, name = kindField, field
		}
	}
	s := o.secrecy(k, name)
	if s == secretNever {
		return part{}
	}
	p := part{at + 1, beforePlaceholder(l.text, at+1, v.inQuery.from(at+1)), 1}
	if k == kindBody {
		p = v.after(at+1, quote)
	}
	if said := l.text[p.from:p.to]; s == secretAlways || isWord(said) && looksRandom(decodedValue(said, p.encoded)) {
		return p
	}
	return part{}
}

// beforePlaceholder returns the end of a word without a placeholder that follows it.
func beforePlaceholder(text string, from, to int) int {
	const first, longest = "[redacted", 40
	if !strings.HasSuffix(text[from:to], first) {
		return to
	}
	mark := to - len(first)
	if at := match.PlaceholderPattern.FindStringIndex(text[mark:min(mark+longest, len(text))]); at == nil || at[0] > 0 {
		return to
	}
	return mark
}

func isWord(said string) bool {
	for _, c := range []byte(strings.TrimRight(said, "=")) {
		if !isNameByte(c) && strings.IndexByte(`+/%\`, c) < 0 {
			return false
		}
	}
	return true
}

// queryName returns the name of a query field at the end of text; for auth[token] the last
// part.
func queryName(text string) (name string, ok bool) {
	from := len(text)
	for from > 0 && (isNameByte(text[from-1]) || strings.IndexByte("%[].", text[from-1]) >= 0) {
		from--
	}
	if from == 0 || strings.IndexByte("?&#;", text[from-1]) < 0 {
		return "", false
	}
	plain := strings.TrimSuffix(decodedValue(text[from:], 1), "]")
	return plain[strings.LastIndexByte(plain, '[')+1:], true
}

// nameBefore returns the name at the end of text and its closing quote with backslashes.
func nameBefore(text string) (name, quote string) {
	text = strings.TrimRight(text, " ")
	word := strings.TrimRight(text, `"'`)
	word = strings.TrimRight(word, `\`)
	quote = text[len(word):]
	from := len(word)
	for from > 0 && isNameByte(word[from-1]) {
		from--
	}
	return word[from:], quote
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

type values struct {
	l                    *leaf
	inQuery, word, digit next // ends of values in queries, ends of values without quotes, and digits
}

func valuesIn(l *leaf) values {
	return values{l, nextOf(l.text, queryEnds(l.kind)), nextOf(l.text, " \t\r\n\"'`,;<>(){}\\&|"), nextOf(l.text, "0123456789")}
}

// queryEnds returns the bytes that end a value in a query. In text, these include the bytes
// that end the URL.
func queryEnds(k kind) string {
	if k == kindURL {
		return "&#"
	}
	return "&#; \t\r\n\"'<>\\)`|}"
}

// next finds the next of some bytes in text. It examines each byte once if the places
// increase.
type next struct {
	text, bytes string
	at          int
}

func nextOf(text, bytes string) next { return next{text, bytes, -1} }

func (n *next) from(place int) int {
	if n.at < place {
		n.at = len(n.text)
		if i := strings.IndexAny(n.text[place:], n.bytes); i >= 0 {
			n.at = place + i
		}
	}
	return n.at
}

// after returns the value after a name with this quote.
func (v *values) after(from int, quote string) part {
	text := v.l.text
	rest := strings.TrimLeft(text[from:], " ")
	opening := rest[:len(rest)-len(strings.TrimLeft(rest, `\`))]
	rest = rest[len(opening):]
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		opening += rest[:1]
		rest = rest[1:]
		from = len(text) - len(rest)
		to := from + closing(rest, opening)
		return part{from: from + len(scheme(text[from:to])), to: to}
	}
	if quote != "" || opening != "" {
		return part{} // a number or the like
	}
	rest = rest[len(scheme(rest)):]
	from = len(text) - len(rest)
	to := beforePlaceholder(text, from, v.word.from(from))
	if to-from < match.MinSecret || v.digit.from(from) >= to {
		return part{}
	}
	return part{from: from, to: to}
}

// closing returns the position of the closing quote. It has the same number of backslashes
// as the opening quote (or an even number if that has none), or fewer if it closes the
// enclosing string.
func closing(text, opening string) int {
	slashes := len(opening) - 1
	run := 0
	for i := range len(text) {
		switch {
		case text[i] == '\\':
			run++
			continue
		case text[i] == opening[slashes] && (run <= slashes || slashes == 0 && run%2 == 0):
			return i - min(run, slashes)
		}
		run = 0
	}
	return len(text)
}
