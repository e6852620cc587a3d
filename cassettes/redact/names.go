package redact

import (
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/internal/jsonval"
)

// The names of secrets, in lower case without - and _. A name matches if it ends with one
// of them.
var (
	secretEnds = endingsOf(
		"authorization", "password", "passwd", "passphrase", "apikey", "secret", "secretkey", "accesskey", "accesskeyid", "subscriptionkey",
		"privatekey", "accesstoken", "apitoken", "authtoken", "bearertoken", "refreshtoken", "securitytoken", "sessiontoken", "idtoken", "clientassertion", "cookie", "fastlykey",
		"phpsessid", "jsessionid", "connect.sid",
	)
	// Only headers.
	secretHeaderEnds = endingsOf("token", "functionskey", "authkey", "applicationkey", "auth", "authentication", "cookie2")
	// Only queries and forms, and only the whole name.
	secretQueries = []string{"key", "token", "sig", "signature", "xamzsignature", "xamzcredential", "xgoogsignature", "xgoogcredential", "pwd", "auth", "jwt", "assertion"}

	// Names that also have harmless values; only values that look random are secret.
	halfSecretHeaderEnds = endingsOf("key", "signature")
	halfSecretNames      = []string{"key", "sig", "assertion", "access", "refresh", "api"}
	halfSecretQueries    = []string{"code", "appid"}

	// Names of objects of Kubernetes that hold secrets.
	objectNames = endingsOf("existingsecret", "imagepullsecret")
)

// endings are words by their last byte.
type endings [256][]string

func endingsOf(words ...string) (e endings) {
	for _, word := range words {
		last := word[len(word)-1]
		e[last] = append(e[last], word)
	}
	return e
}

// match reports whether name, which is not empty, ends with one of the words.
func (e *endings) match(name string) bool {
	return slices.ContainsFunc(e[name[len(name)-1]], func(word string) bool { return strings.HasSuffix(name, word) })
}

var withoutLines = strings.NewReplacer("-", "", "_", "")

// plainName returns a name in lower case without - and _.
func plainName(name string) string {
	for _, c := range []byte(name) {
		if c < 'a' || c > 'z' {
			return strings.ToLower(withoutLines.Replace(name))
		}
	}
	return name
}

// withoutNumber returns a name without the number at its end, as in password2.
func withoutNumber(plain string) string {
	if name := strings.TrimRight(plain, digitChars); name != "" {
		return name
	}
	return plain
}

func hasName(list []string, plain string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return plainName(s) == plain })
}

func leadsTo(list []string, p *place) bool {
	return slices.ContainsFunc(list, func(s string) bool { return jsonval.Matches(s, p.path()) })
}

type secrecy uint8

const (
	secretNever      secrecy = iota
	secretIfSession          // only if the value looks random, and is no UUID or hash
	secretIfRandom           // only if the value looks random
	secretIfKey              // the same, or if the value can be a secret and is no pattern or word of a language
	secretIfStrong           // only if the value looks random, or is a password with signs
	secretIfLikely           // only if the value can be a secret
	secretIfCode             // the same, or a number
	secretAlways             // unless the value names the secret or is about it
	secretConfigured         // by Rules
)

// covers reports whether a value is secret.
func (s secrecy) covers(value string) bool {
	switch s {
	case secretNever:
		return false
	case secretIfSession:
		return looksRandom(value) && !hexDash.all(value)
	case secretIfRandom:
		return looksRandom(value)
	case secretIfKey:
		return looksRandom(value) || isLikely(value) && !strings.ContainsFunc(value, func(r rune) bool { return r > '~' || strings.ContainsRune("*?^", r) })
	case secretIfStrong:
		return isStrong(value) || looksRandom(value) || isBasic(value)
	case secretIfLikely:
		return isLikely(value) || looksRandom(value)
	case secretIfCode:
		return isCode(value) || isLikely(value) || looksRandom(value)
	case secretAlways:
		return !isAbout(value)
	case secretConfigured:
	}
	return true
}

func (o *Rules) secrecy(k kind, name string) secrecy {
	plain := plainName(name)
	header, field := k == kindHeader || k == kindTrailer, k == kindField
	switch {
	case hasName(o.Secret, plain):
		return secretConfigured
	case plain == "", hasName(o.NotSecret, plain), objectNames.match(plain):
		return secretNever
	case secretEnds.match(withoutNumber(plain)),
		header && secretHeaderEnds.match(plain),
		field && slices.Contains(secretQueries, plain):
		return secretAlways
	case header && halfSecretHeaderEnds.match(plain),
		field && slices.Contains(halfSecretQueries, plain),
		!header && !field && slices.Contains(halfSecretNames, plain):
		if !slices.Contains(opaqueIDs, plain) {
			return max(secretIfRandom, tellingSecrecy(name, plain))
		}
	case !slices.Contains(opaqueIDs, plain):
		return tellingSecrecy(name, plain)
	}
	return secretNever
}

// Private and public members of a JSON Web Key (RFC 7517, section 4; RFC 7518, section 6).
var (
	privateMembers   = []string{"d", "p", "q", "dp", "dq", "qi", "k"}
	publicKeyMembers = []string{"n", "x", "y", "x5c", "x5t", "x5t#S256"}
)

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
	if s != secretNever && p.kind != kindHeader && p.kind != kindTrailer && isOrdinary(text) && !hasName(o.Secret, plainName(name)) {
		s = secretNever
	}
	if p.kind == kindNumber && s < secretIfCode { // a count
		s = secretNever
	}
	if p.at != nil && isOneOf(valueMembers, p.name) && p.at.named != "" {
		s = max(s, o.secrecy(p.kind, p.at.named))
	}
	if p.at != nil && p.at.isKey && slices.Contains(privateMembers, p.name) {
		s = max(s, secretIfLikely)
	}
	if p.at != nil && p.at.kind == '[' && p.at.named != "" { // the value after a flag
		s = max(s, min(o.secrecy(p.kind, p.at.named), secretIfLikely))
	}
	if p.kind == kindBody && p.at != nil && p.at.below > s && !isOrdinary(text) && !isDescribing(p.name) && !hasName(slices.Concat(publicMembers, o.NotSecret), plainName(name)) {
		s = p.at.below
	}
	if p.at != nil && leadsTo(o.Secret, p) {
		return true
	}
	return s != secretNever && s.covers(text[len(scheme(text)):]) && (p.at == nil || !leadsTo(o.NotSecret, p))
}

// looksRandom reports whether text is one long word that mixes letters and digits. It
// excludes the ids that providers generate.
func looksRandom(text string) bool {
	word := strings.TrimRight(text, "=")
	return len(word) >= match.MinSecret && wordLength(word) == len(word) && !isIDWord(word) && !isAddress(word) && isMixed(word)
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
		if end := strings.IndexAny(host, "/? \t\r\n\"'<>\\"); end >= 0 {
			host = host[:end]
		}
		if user, _, found := strings.Cut(host, "#"); found && !strings.Contains(user, ":") { // no password with #
			host = user
		}
		if end := strings.LastIndexByte(host, '@'); end > 0 {
			if scheme := text[:at-len("://")]; !isUserName(host[:end], strings.HasSuffix(scheme, "http") || strings.HasSuffix(scheme, "https")) {
				parts = append(parts, part{at, at + end, 1})
			}
		}
	}
}

// isUserName reports whether user information of a URL is a name: in the URLs of web pages it may also be a token.
func isUserName(user string, web bool) bool {
	return user == "git" || isOrdinary(user) || !web && !strings.Contains(user, ":") && !isLikely(user)
}

// Names of random values that are not secrets, in lower case without - and _.
var (
	// Signatures, encrypted reasoning, media and other data.
	opaqueData = []string{
		"signature", "thoughtsignature", "encryptedcontent", "encryptedindex", "redactedthinking",
		"data", "b64json", "partialimageb64", "imageurl", "url", "uri", "fileuri", "filedata", "blob", "embedding",
	}
	// Fingerprints, cursors and padding.
	opaqueIDs = []string{
		"systemfingerprint", "xapiversion", "etag", "hash", "digest", "sha256", "checksum", "nonce", "obfuscation", "p", "cfray", "traceparent", "tracestate", "reportto", "nel",
		"nextpagetoken", "pagetoken", "turntoken", "cursor", "after", "before", "openaiorganization", "openaiproject", "contentsecuritypolicy", "useragent", "boundary", "ixid", "idempotencykey", "secwebsocketkey",
	}
)

// isOpaque reports whether the name of text allows random values.
func (o *Rules) isOpaque(p *place) bool {
	field := p.name
	if p.at != nil {
		field = p.field()
	}
	name := plainName(field)
	return p.at != nil && p.at.isKey && slices.Contains(publicKeyMembers, p.name) || slices.Contains(opaqueData, name) || slices.Contains(opaqueIDs, name) ||
		idName.MatchString(field) || hasName(o.NotSecret, name) || leadsTo(o.NotSecret, p)
}

// idName matches the name of an id: id, item_id, responseId, X-Request-Id.
var idName = regexp.MustCompile(`(?:^|[_-])(?i:ids?)$|I(?i:ds?)$`)

func cookies(text string) (parts []part) {
	at := 0
	for _, pair := range strings.SplitAfter(text, ";") {
		value := strings.TrimRight(pair, "; ")
		_, secret, found := strings.Cut(value, "=")
		if !found {
			secret = strings.TrimLeft(value, " ")
		}
		parts = append(parts, part{from: at + len(value) - len(secret), to: at + len(value)})
		at += len(pair)
	}
	return parts
}

func setCookies(text string) (parts []part) {
	begins := setCookie.FindAllStringIndex(text, -1)
	for i, at := range begins {
		value := text[at[1]:]
		if i+1 < len(begins) {
			value = text[at[1]:begins[i+1][0]]
		}
		value, _, _ = strings.Cut(value, ";")
		parts = append(parts, part{from: at[1], to: at[1] + len(strings.TrimRight(value, " \t\r"))})
	}
	return parts
}

// setCookie matches the beginning of a cookie and the end of the previous one: a line, or a
// comma and a name. Dates contain no such comma. Within a value, which may contain commas,
// a space must follow.
var setCookie = regexp.MustCompile(`(?:^|\n)(?:[^=;,\n]*=)?|(?:,[ \t]+|;[^\n]*?,[ \t]*)[^=;,\s]+=`)
