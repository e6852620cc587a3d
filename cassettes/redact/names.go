package redact

import (
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// The names of what is secret, without - and _ and in lower case. A name is one of them
// if it ends with it.
var (
	secretEnds = endingsOf(
		"authorization", "password", "passwd", "passphrase", "apikey", "secret", "secretkey", "secretaccesskey", "accesskey", "accesskeyid", "subscriptionkey",
		"privatekey", "accesstoken", "apitoken", "authtoken", "bearertoken", "refreshtoken", "securitytoken", "sessiontoken", "idtoken", "clientassertion", "cookie",
	)
	// Of headers alone.
	secretHeaderEnds = endingsOf("token", "functionskey", "authkey", "applicationkey", "auth", "cookie2")
	// Of queries and forms alone, and no longer name than this.
	secretQueries = []string{"key", "token", "sig", "signature", "xamzsignature", "xamzcredential", "xgoogsignature", "xgoogcredential", "pwd", "auth", "jwt", "assertion"}

	// Those that name harmless things, too, and so only what looks random: of headers,
	// of JSON and other text, and of queries and forms.
	halfSecretHeaderEnds = endingsOf("key", "signature")
	halfSecretNames      = []string{"key", "token", "auth", "jwt", "sig", "pwd", "assertion"}
	halfSecretQueries    = []string{"code"}
)

// endings are words by their last byte.
type endings ['z' + 1][]string

func endingsOf(words ...string) (e endings) {
	for _, word := range words {
		last := word[len(word)-1]
		e[last] = append(e[last], word)
	}
	return e
}

// of reports whether a name, which is not empty, ends with one of the words.
func (e *endings) of(name string) bool {
	last := name[len(name)-1]
	return int(last) < len(e) && slices.ContainsFunc(e[last], func(word string) bool { return strings.HasSuffix(name, word) })
}

var withoutLines = strings.NewReplacer("-", "", "_", "")

// plainName is a name without what differs between spellings.
func plainName(name string) string {
	for i := range len(name) {
		if c := name[i]; c < 'a' || c > 'z' {
			return strings.ToLower(withoutLines.Replace(name))
		}
	}
	return name
}

// hasName reports whether a name is in a list.
func hasName(list []string, plain string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return plainName(s) == plain })
}

// leadsTo reports whether a list has a pointer to a place in JSON.
func leadsTo(list []string, p *place) bool {
	return slices.ContainsFunc(list, func(s string) bool { return match.PointerMatches(s, p.path()) })
}

// secrecy is what a name says of what it names.
type secrecy uint8

const (
	secretNever    secrecy = iota
	secretIfRandom         // harmless, unless it looks random
	secretAlways
)

// secrecy is that of a name.
func (o *Rules) secrecy(k kind, name string) secrecy {
	plain := plainName(name)
	switch {
	case plain == "":
		return secretNever
	case o.isSecretName(k, plain):
		return secretAlways
	case isHalfSecretName(k, plain) && !slices.Contains(opaqueMarks, plain) && !hasName(o.NotSecret, plain):
		return secretIfRandom
	}
	return secretNever
}

// isSecretName reports whether what a name names is secret.
func (o *Rules) isSecretName(k kind, plain string) bool {
	switch {
	case secretEnds.of(plain), hasName(o.Secret, plain):
		return true
	case k == kindHeader || k == kindTrailer:
		return secretHeaderEnds.of(plain)
	}
	return k == kindField && slices.Contains(secretQueries, plain)
}

// isHalfSecretName reports whether a name names harmless things, too.
func isHalfSecretName(k kind, plain string) bool {
	switch {
	case k == kindHeader || k == kindTrailer:
		return halfSecretHeaderEnds.of(plain)
	case k == kindField:
		return slices.Contains(halfSecretQueries, plain)
	}
	return slices.Contains(halfSecretNames, plain)
}

// isSecret reports whether all of a text is secret.
func (o *Rules) isSecret(p *place, text string) bool {
	name := p.name
	switch p.kind {
	case kindHeader, kindTrailer, kindField:
	case kindBody, kindNumber:
		name = p.field()
	default:
		return false
	}
	s := o.secrecy(p.kind, name)
	if p.at != nil && p.name == "value" && p.at.named != "" {
		s = max(s, o.secrecy(p.kind, p.at.named))
	}
	return s == secretAlways || p.at != nil && leadsTo(o.Secret, p) || s == secretIfRandom && looksRandom(text[len(scheme(text)):])
}

// looksRandom reports whether a text is one word that is long enough to be looked for
// everywhere, and in which letters and digits come in turns. Names, numbers, dates and
// ids that providers make are none; what is in hexadecimal may be.
func looksRandom(text string) bool {
	word := strings.TrimRight(text, "=")
	return len(word) >= match.MinSecret && wordLength(word) == len(word) && !isIDWord(word) && isMixed(word)
}

// isMixed reports whether letters and digits come in turns.
func isMixed(text string) bool {
	n := changes(text)
	return n >= leastChanges && n*mostRun >= len(text)
}

// leastChanges is how often letters and digits change at least.
const leastChanges = 4

// part is a part of a text that is secret.
type part struct {
	from, to int
	encoded  int // how often it is in percent encoding
}

// secretParts are the parts of a text that its place or words in it call secret.
func (o *Rules) secretParts(l *leaf) []part {
	if !l.secret {
		return o.namedParts(l, mostEncoded)
	}
	switch plainName(l.name) {
	case "cookie", "cookie2":
		return cookies(l.text)
	case "setcookie", "setcookie2":
		return setCookies(l.text)
	}
	return []part{{from: len(scheme(l.text)), to: len(l.text)}}
}

// schemes are those of the header Authorization.
var schemes = []string{"bearer", "basic", "digest", "token", "apikey", "negotiate", "ntlm", "hmac", "aws4-hmac-sha256", "key"}

// longestScheme is how long the longest is, with a space behind it.
const longestScheme = len("aws4-hmac-sha256 ")

// scheme is the word with the space behind it that stands before a secret.
func scheme(text string) string {
	word, _, found := strings.Cut(text[:min(len(text), longestScheme)], " ")
	if !found || !slices.Contains(schemes, strings.ToLower(word)) {
		return ""
	}
	return text[:len(text)-len(strings.TrimLeft(text[len(word):], " "))]
}

// userinfo is what stands before the @ in the URLs of a text.
func userinfo(text string) (parts []part) {
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return parts
		}
		at += i + len("://")
		host := text[at:]
		if end := strings.IndexAny(host, "/?# \t\r\n\"'<>\\"); end >= 0 {
			host = host[:end]
		}
		if end := strings.LastIndexByte(host, '@'); end > 0 {
			parts = append(parts, part{at, at + end, 1})
		}
	}
}
