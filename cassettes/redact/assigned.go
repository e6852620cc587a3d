package redact

import (
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// assigned are the values in a text that follow the name of a secret: those of a query,
// as in ?key=VALUE, and those of quoted members or plain words, as in "password": "VALUE"
// and API_KEY=VALUE. A value without quotes counts if it is long and has a digit, so
// that prose is left alone. In a long value, only short ones are looked for. What stands
// in arrays and objects is nested.
func (o *Rules) assigned(l *leaf) (parts []part) {
	v := valuesIn(l)
	colon, equals := nextOf(l.text, ":"), nextOf(l.text, "=")
	sign := func(from int) int { return min(colon.from(from), equals.from(from)) }
	in := nested{o: o, text: l.text}
	end := 0 // of the values so far
	for at := sign(0); at < len(l.text); at = sign(at + 1) {
		p := o.assignedAt(&v, at)
		if p.to > p.from && (p.to > end || p.to-p.from <= mostRandom) {
			parts = append(parts, p)
			end = max(end, p.to)
		}
		if l.text[at] == ':' {
			in.behind(at)
		}
	}
	return append(parts, in.parts...)
}

// assignedAt is the value behind a colon or an equals sign, if a name of a secret stands
// before it.
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
	p := part{at + 1, beforeMark(l.text, at+1, v.inQuery.from(at+1)), 1}
	if k == kindBody {
		p = v.behind(at+1, quote)
	}
	if said := l.text[p.from:p.to]; s == secretAlways || isWord(said) && looksRandom(meaning(said, p.encoded)) {
		return p
	}
	return part{}
}

// beforeMark is where a word from one place to another ends that may run into a mark.
func beforeMark(text string, from, to int) int {
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

// isWord reports whether a part of a text may be one word, with escapes and all.
func isWord(said string) bool {
	for _, c := range []byte(strings.TrimRight(said, "=")) {
		if !isNameByte(c) && strings.IndexByte(`+/%\`, c) < 0 {
			return false
		}
	}
	return true
}

// queryName is the name of a field of a query at the end of a text, if there is one: of
// auth[token] it is the last part.
func queryName(text string) (name string, ok bool) {
	from := len(text)
	for from > 0 && (isNameByte(text[from-1]) || strings.IndexByte("%[].", text[from-1]) >= 0) {
		from--
	}
	if from == 0 || strings.IndexByte("?&#;", text[from-1]) < 0 {
		return "", false
	}
	plain := strings.TrimSuffix(meaning(text[from:], 1), "]")
	return plain[strings.LastIndexByte(plain, '[')+1:], true
}

// nameBefore is the name at the end of a text, and the quote behind it with its
// backslashes.
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

// values finds the values in a text, one behind the other.
type values struct {
	l                    *leaf
	inQuery, word, digit next // where a value in a query ends, and one without quotes, and digits
}

func valuesIn(l *leaf) values {
	return values{l, nextOf(l.text, queryEnds(l.kind)), nextOf(l.text, " \t\r\n\"'`,;<>(){}\\&|"), nextOf(l.text, "0123456789")}
}

// queryEnds are the bytes that end a value in a query: in a text, also those that end
// the URL.
func queryEnds(k kind) string {
	if k == kindURL {
		return "&#"
	}
	return "&#; \t\r\n\"'<>\\)`|}"
}

// next finds where one of some bytes comes next in a text. From one place to the next,
// what was looked at is not looked at again.
type next struct {
	text, bytes string
	at          int
}

func nextOf(text, bytes string) next { return next{text, bytes, -1} }

// from is where one of the bytes comes at a place or behind it, or else the end.
func (n *next) from(place int) int {
	if n.at < place {
		n.at = len(n.text)
		if i := strings.IndexAny(n.text[place:], n.bytes); i >= 0 {
			n.at = place + i
		}
	}
	return n.at
}

// behind is the value behind a name that had a quote, or none, behind it.
func (v *values) behind(from int, quote string) part {
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
	to := beforeMark(text, from, v.word.from(from))
	if to-from < match.MinSecret || v.digit.from(from) >= to {
		return part{}
	}
	return part{from: from, to: to}
}

// closing is where the quote stands that closes another one, which has as many
// backslashes before it or, if it has none, an even number; or that closes the text
// around it, which has fewer; or the end.
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
