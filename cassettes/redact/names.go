package redact

import (
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/internal/jsonval"
)

// The names of secrets, in lower case without - and _. A name matches if it ends with one
// of them.
var (
	secretEnds = endingsOf(
		"authorization", "password", "passwd", "passphrase", "apikey", "secret", "secretkey", "secretaccesskey", "accesskey", "accesskeyid", "subscriptionkey",
		"privatekey", "accesstoken", "apitoken", "authtoken", "bearertoken", "refreshtoken", "securitytoken", "sessiontoken", "idtoken", "clientassertion", "cookie",
	)
	// Only headers.
	secretHeaderEnds = endingsOf("token", "functionskey", "authkey", "applicationkey", "auth", "cookie2")
	// Only queries and forms, and only the whole name.
	secretQueries = []string{"key", "token", "sig", "signature", "xamzsignature", "xamzcredential", "xgoogsignature", "xgoogcredential", "pwd", "auth", "jwt", "assertion"}

	// Names that also have harmless values; only values that look random are secret.
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

func (e *endings) of(name string) bool {
	last := name[len(name)-1]
	return int(last) < len(e) && slices.ContainsFunc(e[last], func(word string) bool { return strings.HasSuffix(name, word) })
}

var withoutLines = strings.NewReplacer("-", "", "_", "")

// plainName returns a name in lower case without - and _.
func plainName(name string) string {
	for i := range len(name) {
		if c := name[i]; c < 'a' || c > 'z' {
			return strings.ToLower(withoutLines.Replace(name))
		}
	}
	return name
}

func hasName(list []string, plain string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return plainName(s) == plain })
}

func leadsTo(list []string, p *place) bool {
	return slices.ContainsFunc(list, func(s string) bool { return jsonval.Matches(s, p.path()) })
}

type secrecy uint8

const (
	secretNever    secrecy = iota
	secretIfRandom         // only if the value looks random
	secretAlways
)

func (o *Rules) secrecy(k kind, name string) secrecy {
	plain := plainName(name)
	switch {
	case plain == "":
		return secretNever
	case o.isSecretName(k, plain):
		return secretAlways
	case isHalfSecretName(k, plain) && !slices.Contains(opaqueIDs, plain) && !hasName(o.NotSecret, plain):
		return secretIfRandom
	}
	return secretNever
}

func (o *Rules) isSecretName(k kind, plain string) bool {
	switch {
	case secretEnds.of(plain), hasName(o.Secret, plain):
		return true
	case k == kindHeader || k == kindTrailer:
		return secretHeaderEnds.of(plain)
	}
	return k == kindField && slices.Contains(secretQueries, plain)
}

func isHalfSecretName(k kind, plain string) bool {
	switch {
	case k == kindHeader || k == kindTrailer:
		return halfSecretHeaderEnds.of(plain)
	case k == kindField:
		return slices.Contains(halfSecretQueries, plain)
	}
	return slices.Contains(halfSecretNames, plain)
}

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

// looksRandom reports whether text is one long word that mixes letters and digits. It
// excludes the ids that providers generate.
func looksRandom(text string) bool {
	word := strings.TrimRight(text, "=")
	return len(word) >= match.MinSecret && wordLength(word) == len(word) && !isIDWord(word) && isMixed(word)
}

func isMixed(text string) bool {
	n := changes(text)
	return n >= minChanges && n*maxRun >= len(text)
}

const minChanges = 4

type part struct {
	from, to int
	encoded  int // number of percent encodings
}

// secretParts returns the secret parts of text by its place and by names in it.
func (o *Rules) secretParts(l *leaf) []part {
	if !l.secret {
		return o.namedParts(l, maxEncodings)
	}
	switch plainName(l.name) {
	case "cookie", "cookie2":
		return cookies(l.text)
	case "setcookie", "setcookie2":
		return setCookies(l.text)
	}
	return []part{{from: len(scheme(l.text)), to: len(l.text)}}
}

// schemes are the schemes of the header Authorization.
var schemes = []string{"bearer", "basic", "digest", "token", "apikey", "negotiate", "ntlm", "hmac", "aws4-hmac-sha256", "key"}

const longestScheme = len("aws4-hmac-sha256 ")

// scheme returns the scheme before a credential, with the space after it.
func scheme(text string) string {
	word, _, found := strings.Cut(text[:min(len(text), longestScheme)], " ")
	if !found || !slices.Contains(schemes, strings.ToLower(word)) {
		return ""
	}
	return text[:len(text)-len(strings.TrimLeft(text[len(word):], " "))]
}

// userinfo returns the user information in URLs.
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
