package redact

import (
	"slices"
	"strings"
)

// A name is telling if it contains a word for a secret. What its values look like decides.

// stems occur in every telling name, in lower case without - and _, by their first two letters.
var stems = stemsOf(
	"pass", "pwd", "pin", "secret", "sess", "signature", "token", "key", "auth", "cred", "cookie", "code", "cvv", "cvc", "conn", "otp", "jwt", "bearer", "mfa", "dsn", "pw", "psk", "csrf", "xsrf", "sk", "pat",
	"tkn", "pswd", "pword", "puk", "assertion", "kennwort", "contrasena", "senha", "haslo", "salasana", "sifre", "heslo",
)

func stemsOf(words ...string) *[1 << 10][]string {
	var by [1 << 10][]string
	for _, w := range words {
		by[pairOf(w)] = append(by[pairOf(w)], w)
	}
	return &by
}

// pairOf returns a number for the first two letters of text, in any case.
func pairOf(text string) int { return int(text[0]&31)<<5 | int(text[1]&31) }

// hasStem reports whether a plain name may be telling.
func hasStem(plain string) bool { return nextStem(plain, 0) < len(plain) }

// nextStem returns the position of the next stem in text, in any case, or the length of text.
func nextStem(text string, from int) int {
	for i := from; i+1 < len(text); i++ {
		for _, stem := range stems[pairOf(text[i:])] {
			if len(text)-i >= len(stem) && strings.EqualFold(text[i:i+len(stem)], stem) {
				return i
			}
		}
	}
	return len(text)
}

// Words of names, in lower case.
var (
	passwordWords = []string{"password", "passwords", "passwd", "passphrase", "passcode", "pwd", "pass", "secret", "secrets", "credential", "credentials", "creds", "cookie", "cookies", "authorization", "bearer", "jwt", "apikey", "apikeys", "token", "auth", "dsn", "pw", "psk", "csrf", "xsrf"}
	pinWords      = []string{"pin", "otp", "totp", "cvv", "cvc", "mfa", "puk"}
	// Before the word key.
	keyOwners = []string{"api", "app", "application", "access", "private", "sign", "signing", "signature", "encryption", "encrypt", "master", "license", "account", "storage", "subscription", "auth", "ssh", "gpg", "pgp", "deploy", "webhook", "service", "shared", "client", "consumer", "integration", "admin", "root", "host", "functions", "hmac", "aes", "rsa", "symmetric", "server", "ingest", "jwt", "session", "sas", "wifi", "wpa", "wep", "tls", "ssl", "decryption", "decrypt", "product", "serial", "activation", "unseal", "recovery", "preshared"}
	// After the word key.
	keyKinds = []string{"api", "private", "signing", "encryption", "master", "license", "hmac", "aes"}
	// Before the word code.
	codeOwners = []string{"recovery", "backup", "auth", "authorization", "verification", "device", "time", "one-time", "sms", "login", "security", "access", "otp", "pin", "unlock", "activation", "reset", "factor", "mfa", "totp"}
	// The last word of a name that describes a secret, and is none.
	describing = []string{
		"count", "counts", "limit", "limits", "type", "types", "usage", "usages", "length", "len", "size", "id", "ids", "name", "names", "url", "urls", "uri", "endpoint", "expires", "expiry",
		"exp", "ttl", "at", "in", "details", "detail", "ratio", "rate", "budget", "status", "state", "enabled", "required", "policy", "method", "methods", "mode", "format", "algorithm", "hint", "help",
		"label", "field", "fields", "path", "file", "index", "position", "offset", "start", "end", "window", "price", "cost", "per", "max", "min", "total", "remaining", "version", "created",
		"updated", "number", "logprob", "logprobs", "prob", "reason", "provider", "scheme", "scope", "scopes", "schema", "domain", "error", "message", "description", "title", "strength", "fingerprint", "source", "ref", "refs", "consent", "changed", "arn", "arns", "address", "addresses", "symbol", "standard", "manager", "banner",
	}
	// The word before token or key in a name that is exempt.
	harmlessOwners = []string{
		"page", "next", "continuation", "sync", "cursor", "per", "prompt", "completion", "output", "input", "max", "min", "stop", "special", "eos", "bos", "pad", "unk", "mask", "sep", "cls", "first", "last",
		"previous", "turn", "thinking", "reasoning", "cached", "text", "audio", "image", "resume", "logprob", "top", "progress", "gpio", "led", "pwm", "pagination", "starting",
		"public", "publishable", "primary", "foreign", "sort", "partition", "cache", "idempotency", "object", "group", "row", "thought",
	}
	// The word before sk or pat in names of sort keys, of texts in Slovak and of patterns.
	notVendors = []string{"gsi", "lsi", "lang", "language", "locale", "text"}
	// Names that a protocol gives to other data.
	exempt = []string{
		"maxtokens", "prompttokens", "completiontokens", "totaltokens", "tokencount", "tokens", "finishreason", "stopsequence", "signature", "thoughtsignature", "signaturedelta", "promptcachekey",
		"safetyidentifier", "xauthtype", "wwwauthenticate", "idempotencykey", "surrogatekey", "secwebsocketkey", "publickeypins", "accesscontrolallowcredentials", "cachekey", "timecode", "timecodes", "passthrough", "keysignature", "timesignature", "oldpwd", "code", "key", "session",
	}
)

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// maxName is the length of the longest telling name.
const maxName = 80

// tellingSecrecy returns the secrecy of a name by the words it contains.
func tellingSecrecy(name, plain string) secrecy {
	if len(name) <= maxName && passwordEnds.match(withoutNumber(plain)) {
		return secretIfLikely
	}
	if len(name) > maxName || !hasStem(plain) || slices.Contains(exempt, plain) {
		return secretNever
	}
	words := nameWords(name)
	if describes(words) && !slices.Contains(words, "session") {
		return secretNever
	}
	found := secretNever
	before := ""
	for _, w := range words {
		found = max(found, wordSecrecy(before, w))
		before = w
	}
	return found
}

// isDescribing reports whether the last word of a name describes a secret, and is none.
func isDescribing(name string) bool { return describes(nameWords(name)) }

// describes reports the same for the words of a name. The number of a PIN is the PIN.
func describes(words []string) bool {
	last := len(words) - 1
	if last > 0 && words[last] == "number" && slices.Contains(pinWords, words[last-1]) {
		return false
	}
	return last >= 0 && slices.Contains(describing, words[last])
}

// collections are the names of arrays and objects whose texts are secrets, with the least secrecy of
// these. In a JSON Schema they are names of properties.
var collections = map[string]secrecy{
	"secrets": secretIfLikely, "passwords": secretIfLikely, "credentials": secretIfLikely, "creds": secretIfLikely,
	"password": secretIfLikely, "secret": secretIfLikely, "credential": secretIfLikely,
	"apikeys": secretIfLikely, "cookies": secretIfLikely, "tokens": secretIfRandom,
}

// publicMembers are the names of members of such an object that are no secrets.
var publicMembers = []string{"user", "username", "userid", "login", "email", "mail", "account", "host", "hostname", "server", "region", "service", "model"}

// collectionOf returns the secrecy of the texts in a new array or object of n.
func (o *Rules) collectionOf(n *node, name string) secrecy {
	if len(name) < len("creds") || len(name) > len("credentials") || n.name == "properties" {
		return n.below
	}
	plain := plainName(name)
	if hasName(o.NotSecret, plain) {
		return secretNever
	}
	return max(n.below, collections[plain])
}

func wordSecrecy(before, w string) secrecy {
	switch {
	case slices.Contains(harmlessOwners, before):
		return secretNever
	case w == "token" && before == "", w == "auth" && before == "":
		return secretIfStrong
	case slices.Contains(passwordWords, w), w == "tokens" && slices.Contains(keyOwners, before), w == "string" && (before == "connection" || before == "auth"), w == "signature" && before != "":
		return secretIfLikely
	case before == "key" && slices.Contains(keyKinds, w):
		return secretIfLikely
	case (w == "key" || w == "keys") && (slices.Contains(keyOwners, before) || slices.Contains(passwordWords, before)), w == "signature":
		return secretIfLikely
	case slices.Contains(pinWords, w), w == "code" && slices.Contains(codeOwners, before), w == "codes" && slices.Contains(codeOwners, before):
		return secretIfCode
	case w == "session", w == "sessionid", w == "sessid":
		return secretIfSession
	case (w == "sk" || w == "pat") && before != "" && !slices.Contains(notVendors, before) && !slices.Contains(describing, before):
		return secretIfKey
	case w == "key" && before != "", w == "sk", w == "pat":
		return secretIfRandom
	}
	return joinedSecrecy(w)
}

// joinedEnds end names whose words are not separated.
var joinedEnds = []string{"password", "passwd", "passphrase", "passcode", "pwd", "pass", "psk", "secret", "token", "credential", "credentials", "cookie", "apikey", "privkey", "privatekey", "secretkey", "signingkey", "accesskey", "masterkey", "licensekey", "accountkey", "encryptionkey", "connectionstring"}

// otherPasses end with pass, and are no passwords.
var otherPasses = []string{"bypass", "compass", "encompass", "overpass", "surpass", "trespass", "underpass"}

func joinedSecrecy(word string) secrecy {
	if slices.ContainsFunc(joinedEnds, func(end string) bool { return strings.HasSuffix(word, end) }) && !slices.Contains(otherPasses, word) {
		return secretIfLikely
	}
	if strings.HasSuffix(word, "sessionid") || strings.HasSuffix(word, "sessid") {
		return secretIfSession
	}
	return secretNever
}

// isLikely reports whether a value can be a secret: a word of letters and digits, or with signs as
// passwords have.
func isLikely(text string) bool {
	if len(text) < minLikely || strings.ContainsAny(text, " \t\r\n<>{}()") || strings.Contains(text, "://") || text[0] == '$' || text[0] == '/' || text[0] == '%' || isIDWord(text) || isFileName(text) || hardwarePin.MatchString(text) {
		return false
	}
	letter, digit, sign := false, false, false
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c):
			letter = true
		case isDigit(c):
			digit = true
		case strings.IndexByte("-_./:,", c) < 0:
			sign = true
		}
	}
	return letter && digit && !isDated(text) || letter && sign && looksMixed(text) || isScrambled(text)
}

const minLikely = 6

// isStrong reports whether a value looks like a password: letters, digits and signs.
func isStrong(text string) bool { return strings.ContainsAny(text, "!#$^&*~") && isLikely(text) }

// isBasic reports whether a value is base64 of a user and a password, as in the settings of Docker and npm.
func isBasic(text string) bool {
	plain, ok := fromBase64(strings.TrimRight(text, "="))
	user, password, found := strings.Cut(plain, ":")
	return ok && found && user != "" && len(password) >= minLikely && isText(plain) && !strings.ContainsAny(plain, " \n")
}

// isDated reports whether text is words and a number or a date at the end, such as a version.
func isDated(text string) bool {
	rest := strings.TrimRight(text, "0123456789.-_:TZ")
	return rest == "" || rest == "v" || !strings.ContainsAny(rest, "0123456789") && len(text) > len(rest) && strings.IndexByte("-_.:", text[len(rest)]) >= 0
}

// looksMixed reports whether text has letters of both cases.
func looksMixed(text string) bool {
	return strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// isCode reports whether a value is a number such as a PIN.
func isCode(text string) bool {
	return len(text) >= minNumber && len(text) <= 10 && strings.Trim(text, "0123456789") == ""
}
