package cassettes

import "strings"

// assigned are the values in a text that follow the name of a secret: those of a query,
// as in ?key=VALUE, and those of quoted members or plain words, as in "password": "VALUE"
// and API_KEY=VALUE. A value without quotes counts if it is long and has a digit, so
// that prose is left alone.
func (o *Options) assigned(l *leaf) (parts []part) {
	text := l.text
	for at := 0; ; at++ {
		i := strings.IndexAny(text[at:], ":=")
		if i < 0 {
			return parts
		}
		at += i
		name, quote, before := nameBefore(text[:at])
		var p part
		switch {
		case name == "":
			continue
		case text[at] == '=' && quote == "" && (before == '?' || before == '&' || before == '#' || before == ';'):
			if !o.isSecretName(kindField, name) {
				continue
			}
			p = queryValue(l, at+1)
		case !o.isSecretName(kindBody, name):
			continue
		default:
			p = value(text, at+1, quote)
		}
		if p.to > p.from {
			parts = append(parts, p)
		}
	}
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
