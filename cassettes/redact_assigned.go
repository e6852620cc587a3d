package cassettes

import (
	"regexp"
	"strings"
)

// assigned are the values in a text that follow the name of a secret: those of a query,
// as in ?key=VALUE, and those of quoted members or plain words, as in "password": "VALUE"
// and API_KEY=VALUE. A value without quotes counts if it is long and has a digit, so
// that prose is left alone.
func (o *Options) assigned(l *leaf) (parts []part) {
	colon, equals := indexFrom(l.text, ':', 0), indexFrom(l.text, '=', 0)
	for at := min(colon, equals); at < len(l.text); at = min(colon, equals) {
		if p := o.assignedAt(l, at); p.to > p.from {
			parts = append(parts, p)
		}
		if at == colon {
			colon = indexFrom(l.text, ':', at+1)
		} else {
			equals = indexFrom(l.text, '=', at+1)
		}
	}
	return parts
}

// indexFrom is where a byte comes next in a text, or the end.
func indexFrom(text string, c byte, from int) int {
	if i := strings.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// assignedAt is the value behind a colon or an equals sign, if a name of a secret stands
// before it.
func (o *Options) assignedAt(l *leaf, at int) part {
	k := kindBody
	name, quote := nameBefore(l.text[:at])
	if l.text[at] == '=' {
		if field, ok := queryName(l.text[:at]); ok {
			k, name = kindField, field
		}
	}
	whole, half := o.isSecretName(k, name), o.isHalfSecretName(k, name)
	if !whole && !half {
		return part{}
	}
	p := queryValue(l, at+1)
	if k == kindBody {
		p = value(l.text, at+1, quote)
	}
	if whole || looksRandom(meaning(l.text[p.from:p.to], p.inURL)) {
		return p
	}
	return part{}
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
	plain := strings.TrimSuffix(meaning(text[from:], true), "]")
	return plain[strings.LastIndexByte(plain, '[')+1:], true
}

// elements are the values in a text that stand in elements of XML with the names of
// secrets.
func (o *Options) elements(text string) (parts []part) {
	if !strings.Contains(text, "</") {
		return nil
	}
	for _, at := range element.FindAllStringSubmatchIndex(text, -1) {
		name, said := text[at[2]:at[3]], text[at[4]:at[5]]
		if o.isSecretName(kindBody, name) || o.isHalfSecretName(kindBody, name) && looksRandom(said) {
			parts = append(parts, part{from: at[4], to: at[5]})
		}
	}
	return parts
}

// element is the beginning of an element with a text.
var element = regexp.MustCompile(`<(?:[\w.-]+:)?([\w-]+)(?:\s[^<>]*)?>\s*([^<>\s][^<>]*?)\s*</`)

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

// queryValue is the value in a query that begins at a place.
func queryValue(l *leaf, from int) part {
	ends := "&#; \t\r\n\"'<>\\)`|}"
	if l.kind == kindURL {
		ends = "&#"
	}
	return part{from, from + untilAny(l.text[from:], ends), true}
}

// untilAny is how long a text is up to one of these bytes.
func untilAny(text, ends string) int {
	if i := strings.IndexAny(text, ends); i >= 0 {
		return i
	}
	return len(text)
}

// value is the value behind a name that had a quote, or none, behind it.
func value(text string, from int, quote string) part {
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
		return part{} // a number, an object or the like
	}
	rest = rest[len(scheme(rest)):]
	from = len(text) - len(rest)
	to := from + untilAny(rest, " \t\r\n\"'`,;<>(){}\\&|")
	if to-from < leastEcho || !strings.ContainsAny(text[from:to], "0123456789") {
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
