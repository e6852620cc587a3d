package redact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// assigned returns the values after the names of secrets in text: in a query, as in
// ?key=VALUE, after quoted members or plain words, as in "password": "VALUE" and
// API_KEY=VALUE. A value without quotes counts if it is long and has a digit, so that prose
// is unchanged. Within a long value, only short values are searched for. See nested for
// arrays and objects.
func (o *Rules) assigned(l *leaf) (parts []part) {
	v := values{l, nextOf(l.text, queryEnds(l.kind)), nextOf(l.text, " \t\r\n\"'`,;<>(){}\\&|"), nextOf(l.text, "0123456789")}
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
	said := l.text[p.from:p.to]
	if s < secretConfigured && k == kindBody && (len(said) == 1 || isCodeAt(l.text, p) || isTestResult(name, said) || isResourceName(l.text[:at])) {
		return part{}
	}
	if s == secretConfigured || (s > secretIfStrong || isWord(said)) && s.covers(decodedValue(said, p.encoded)) {
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
	if index := strings.TrimSuffix(text, "]"); strings.HasSuffix(index, `"`) || strings.HasSuffix(index, "'") {
		text = index // as in environ['NAME']
	}
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
		if quote == "" && endsString(text[:from], opening, rest) {
			return part{}
		}
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
	if to-from < minLikely || to-from < match.MinSecret && !isLikely(text[from:to]) || v.digit.from(from) >= to && !isScrambled(text[from:to]) {
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

const maxEncodings = 3 // of repeated percent encoding

// namedParts returns the values that names in text mark as secret, also within percent
// encoding, such as a URL in a query.
func (o *Rules) namedParts(l *leaf, times int) []part {
	parts := slices.Concat(o.assigned(l), o.elements(l.text), o.labeled(l.text), o.prose(l.text), secretKeys(l.text), manifest(l.text), userinfo(l.text))
	if times == 0 {
		return parts
	}
	ends := queryEnds(l.kind) + "?"
	for at := 0; ; {
		escape := strings.IndexByte(l.text[at:], '%')
		if escape < 0 {
			return parts
		}
		escape += at
		from := at + strings.LastIndexAny(l.text[at:escape], ends+"=") + 1
		at = len(l.text)
		if end := strings.IndexAny(l.text[escape:], ends); end >= 0 {
			at = escape + end
		}
		parts = append(parts, o.encodedParts(l, from, at, times-1)...)
	}
}

// encodedParts returns the secret parts of the decoded word without placeholders.
func (o *Rules) encodedParts(l *leaf, from, to, times int) (parts []part) {
	plain, places := decoded(l.text[from:to])
	marks := match.PlaceholderPattern.FindAllStringIndex(plain, -1)
	for _, p := range o.namedParts(&leaf{place: l.place, text: plain}, times) {
		i, _ := slices.BinarySearchFunc(marks, p.from, func(mark []int, at int) int { return mark[0] - at })
		if i == len(marks) || marks[i][0] >= p.to {
			parts = append(parts, part{from + places[p.from], from + places[p.to], p.encoded + 1})
		}
	}
	return parts
}

// decoded returns decoded text and the position of each of its bytes, and of its end, in
// text.
func decoded(text string) (plain string, places []int) {
	out := make([]byte, 0, len(text))
	places = make([]int, 0, len(text)+1)
	for at := 0; at < len(text); at++ {
		places = append(places, at)
		c := text[at]
		if c == '%' && at+2 < len(text) {
			if code, err := strconv.ParseUint(text[at+1:at+3], 16, 8); err == nil {
				c = byte(code)
				at += 2
			}
		}
		out = append(out, c)
	}
	return string(out), append(places, len(text))
}

// elements returns the values of XML elements with secret names. A truncated value counts
// if it is long and has a digit.
func (o *Rules) elements(text string) (parts []part) {
	if !strings.Contains(text, "<") {
		return nil
	}
	for _, at := range element.FindAllStringSubmatchIndex(text, -1) {
		name, said, end := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
		if (end == "</" || isLongWord(said)) && o.secrecy(kindBody, name).covers(said) {
			parts = append(parts, part{from: at[4], to: at[5]})
		}
	}
	return parts
}

// element matches an element with text, up to its end or the end of the input.
var element = regexp.MustCompile(`<(?:[\w.-]+:)?([\w-]+)(?:\s[^<>]*)?>\s*([^<>\s][^<>]*?)\s*(</|<?$)`)

func isLongWord(text string) bool {
	return len(text) >= match.MinSecret && !strings.ContainsAny(text, " \t\r\n") && strings.ContainsAny(text, "0123456789")
}

// nested finds values in arrays and objects with secret names in text that is not valid
// JSON. As in JSON, these are the strings in an array and the member value of an object.
type nested struct {
	o      *Rules
	text   string
	at     int // position; each byte is examined once
	within []bracket
	member string // of the current object
	parts  []part
}

// bracket is an array or object with its name. An element of an array has the name of the
// array.
type bracket struct {
	kind byte
	name string
}

func (n *nested) after(colon int) {
	from := colon + 1
	value := strings.TrimLeft(n.text[from:], " ")
	if from < n.at || value == "" || value[0] != '[' && value[0] != '{' {
		return
	}
	name, quote := nameBefore(n.text[:colon])
	if quote == "" || n.o.secrecy(kindBody, name) == secretNever {
		return
	}
	n.member, n.within = name, nil
	n.at = len(n.text) - len(value)
	for n.at < len(n.text) && n.next() {
		n.at++
	}
}

// next examines the current byte and reports whether to continue after it.
func (n *nested) next() bool {
	switch c := n.text[n.at]; c {
	case '[', '{':
		n.within = append(n.within, bracket{c, n.name()})
	case ']', '}':
		n.within = n.within[:len(n.within)-1]
		return len(n.within) > 0
	case '"', '\'':
		return n.string()
	default:
		return strings.IndexByte(" \t\r\n,:+-.0123456789Etruefalsn\\", c) >= 0
	}
	return true
}

func (n *nested) name() string {
	if i := len(n.within) - 1; i >= 0 && n.within[i].kind == '[' {
		return n.within[i].name
	}
	return n.member
}

// string examines a string, whose quotes may have backslashes.
func (n *nested) string() bool {
	before := n.text[:n.at]
	opening := n.text[len(strings.TrimRight(before, `\`)) : n.at+1]
	from := n.at + 1
	to := from + closing(n.text[from:], opening)
	rest, closed := strings.CutPrefix(n.text[to:], opening)
	n.at = len(n.text) - len(rest) - 1
	said, in := n.text[from:to], n.within[len(n.within)-1]
	switch {
	case in.kind == '[':
		n.value(in.name, from, to)
	case strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":"):
		n.member = said
	case isOneOf(valueMembers, n.member):
		n.value(in.name, from, to)
	}
	return closed
}

func (n *nested) value(name string, from, to int) {
	said := n.text[from:to]
	if s := n.o.secrecy(kindBody, name); s.covers(decodedValue(said, 0)) {
		n.parts = append(n.parts, part{from: from + len(scheme(said)), to: to})
	}
}
