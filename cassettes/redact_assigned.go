package cassettes

import "strings"

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
	name, quote, before := nameBefore(l.text[:at])
	switch {
	case l.text[at] == '=' && quote == "" && (before == '?' || before == '&' || before == '#' || before == ';'):
		if o.isSecretName(kindField, name) {
			return queryValue(l, at+1)
		}
	case o.isSecretName(kindBody, name):
		return value(l.text, at+1, quote)
	}
	return part{}
}

// nameBefore is the name at the end of a text, the quote behind it with its backslashes,
// and the byte before it.
func nameBefore(text string) (name, quote string, before byte) {
	text = strings.TrimRight(text, " ")
	word := strings.TrimRight(text, `"'`)
	word = strings.TrimRight(word, `\`)
	quote = text[len(word):]
	from := len(word)
	for from > 0 && isNameByte(word[from-1]) {
		from--
	}
	if from > 0 {
		before = word[from-1]
	}
	return word[from:], quote, before
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
// backslashes before it or, if it has none, an even number; or the end.
func closing(text, opening string) int {
	slashes := len(opening) - 1
	run := 0
	for i := range len(text) {
		switch {
		case text[i] == '\\':
			run++
			continue
		case text[i] == opening[slashes] && (run == slashes || slashes == 0 && run%2 == 0):
			return i - slashes
		}
		run = 0
	}
	return len(text)
}
