package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// shape is a shape that is not a prefix and its characters.
type shape struct {
	what  string
	begin string // occurs in each match
	form  *regexp.Regexp
}

// shapes are the other shapes. The last group of a form is the secret.
var shapes = []shape{
	{"a token in JSON (JWT)", "eyJ", word(`eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*`)},
	{privateKey, "PRIVATE KEY", regexp.MustCompile(`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|.*))`)},
	// https://core.telegram.org/bots/api#authorizing-your-bot
	{"a token of Telegram", ":AA", word(`[0-9]{8,10}:AA[\w-]{32,34}`)},
	// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks/
	{"a webhook of Slack", "hooks.slack.com/", word(`hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,}`)},
	// https://discord.com/developers/docs/resources/webhook
	{"a webhook of Discord", "/api/webhooks/", word(`discord(?:app)?\.com/api/webhooks/[0-9]{15,}/[\w-]{30,}`)},
	// https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/
	{"a webhook of Microsoft Teams", "webhook.office.com/", word(`webhook\.office\.com/webhookb2/[\w@/-]{60,}`)},
	// https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
	{"a token of Terraform", ".atlasv1.", word(`[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}`)},
	// https://developers.facebook.com/docs/facebook-login/guides/access-tokens/#apptokens
	{"a token of a Facebook app", "|", regexp.MustCompile(`(?:^|[^0-9A-Za-z])([0-9]{15,16}\|[\w-]{27,40})`)},
	// https://authress.io/knowledge-base/docs/authorization/service-clients
	{"a key of Authress", ".acc", word(`(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}`)},
	// https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
	{"the hash of a password", "$", regexp.MustCompile(`(?:^|[^A-Za-z0-9$])(\$(?:2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}|(?:1|5|6|y|7|apr1|gy)\$(?:[^$\s:"']{1,40}\$){1,2}[./A-Za-z0-9]{22,86}|(?:argon2id?|argon2i|scrypt|pbkdf2-sha\d+)\$[^\s"':]{20,200}))`)},
	// https://github.com/microsoft/security-utilities
	{"a client secret of Microsoft Entra", "Q~", regexp.MustCompile(`(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,33}[A-Za-z0-9_~])`)},
}

const privateKey = "a private key"

// word returns the pattern of a word, which may follow the color of a terminal.
func word(form string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^A-Za-z0-9]|\x1b\[[0-9;]*m)(` + form + `)`)
}

// shapeIndex has the rows of shapeRows by the first two bytes of a prefix.
var shapeIndex = indexShapes(shapeRows)

type prefixRow struct {
	prefix string
	row    *shapeRow
}

func indexShapes(rows []shapeRow) *[256]*[256][]prefixRow {
	var index [256]*[256][]prefixRow
	for i := range rows {
		for _, prefix := range rows[i].prefixes {
			first := index[prefix[0]]
			if first == nil {
				first = &[256][]prefixRow{}
				index[prefix[0]] = first
			}
			first[prefix[1]] = append(first[prefix[1]], prefixRow{prefix, &rows[i]})
		}
	}
	return &index
}

// hit is a suspected secret in text.
type hit struct {
	from, to int
	what     string
	known    bool // has a known shape
	encoded  bool // in text in base64
}

// findShapes returns the suspected secrets in text, also in its decoded forms: without percent
// encoding, without backslashes, and in base64.
func (o *Rules) findShapes(text string) (hits []hit) {
	if len(text) < minShape {
		return nil
	}
	if plain, ok := fromUTF16(text); ok {
		return o.findUTF16(text, plain)
	}
	hits = o.findPlain(text, maxNested)
	if !strings.ContainsAny(text, `%\`) {
		return hits
	}
	for from := 0; from < len(text); from++ { // word by word, to need little memory
		to := len(text)
		if i := strings.IndexAny(text[from:], " \t\r\n"); i >= 0 {
			to = from + i
		}
		hits = o.addEncoded(hits, text[from:to], from)
		from = to
	}
	return hits
}

// addEncoded adds the known shapes in a word with percent encoding or backslashes.
func (o *Rules) addEncoded(hits []hit, word string, from int) []hit {
	for times, plain, places := 0, word, []int(nil); times < maxEncodings && strings.Contains(plain, "%"); times++ {
		next, at := decoded(plain)
		if len(next) == len(plain) {
			break
		}
		plain, places = next, through(places, at)
		hits = addHits(hits, o.findPlain(plain, 0), places, from)
	}
	if strings.Contains(word, `\`) {
		plain, places := withoutEscapes(word)
		hits = addHits(hits, o.findPlain(plain, 0), places, from)
	}
	return hits
}

// through returns the places in the first text for the places in the second one.
func through(first, second []int) []int {
	if first == nil {
		return second
	}
	for i, at := range second {
		second[i] = first[at]
	}
	return second
}

// addHits adds the known shapes of a decoded word.
func addHits(hits, more []hit, places []int, from int) []hit {
	for _, h := range more {
		h.from, h.to = from+places[h.from], from+places[h.to]
		if h.known && !overlaps(hits, h) {
			hits = append(hits, h)
		}
	}
	return hits
}

// withoutEscapes returns text without the backslashes of JSON strings, however often they are
// nested, and the position of each of its bytes, and of its end, in text.
func withoutEscapes(text string) (plain string, places []int) {
	out := make([]byte, 0, len(text))
	places = make([]int, 0, len(text)+1)
	for at := 0; at < len(text); at++ {
		from, c := at, text[at]
		if c == '\\' {
			for at < len(text)-1 && text[at] == '\\' {
				at++
			}
			c = text[at]
			if i := strings.IndexByte("nrtbf", c); i >= 0 {
				c = "\n\r\t\b\f"[i]
			} else if r, ok := hexRune(text[at:]); ok && r < utf8.RuneSelf {
				c = byte(r)
				at += len("XXXX")
			}
		}
		out, places = append(out, c), append(places, from)
	}
	return string(out), append(places, len(text))
}

// maxNested is how often base64 may be nested.
const maxNested = 2

// findPlain returns the suspected secrets in text without percent encoding and escapes. It decodes nested
// base64 up to this number of times.
func (o *Rules) findPlain(text string, nested int) (hits []hit) {
	for i := range shapes {
		s := &shapes[i]
		if !strings.Contains(text, s.begin) {
			continue
		}
		for _, at := range s.form.FindAllStringSubmatchIndex(text, -1) {
			h := hit{from: at[2], to: at[3], what: s.what, known: true}
			if (s.what == privateKey || isGenerated(text[h.from:h.to], minRises)) && !overlaps(hits, h) {
				hits = append(hits, h)
			}
		}
	}
	for from := 0; from < len(text); from++ {
		if !wordChars[text[from]] {
			continue
		}
		to := from + wordLength(text[from:])
		done := from
		for at := from; at < to && at < len(text)-1; at++ {
			if !alnum[text[at]] || at > from && alnum[text[at-1]] && !isColored(text[:at]) || at < done {
				continue
			}
			first := shapeIndex[text[at]]
			if first == nil {
				continue
			}
			if h, found := prefixed(text, at, first[text[at+1]]); found && !overlaps(hits, h) && !strings.HasSuffix(text[h.from:h.to], exampleOfAWS) {
				hits = append(hits, h)
				done = h.to
			}
		}
		for begin := from; begin < to; {
			end := to
			if i := strings.IndexByte(text[begin:to], '/'); i >= 0 {
				end = begin + i
			}
			if h, found := around(text, begin, end); found && !overlaps(hits, h) {
				hits = append(hits, h)
			}
			begin = end + 1
		}
		if to-from >= minRandom {
			for _, h := range o.randomIn(text, from, to) {
				if !overlaps(hits, h) {
					hits = append(hits, h)
				}
			}
		}
		if nested > 0 && to-from >= minBase64 {
			for _, h := range o.base64In(text, from, to, nested-1) {
				hits = append(slices.DeleteFunc(hits, func(o hit) bool { return overlaps([]hit{h}, o) }), h)
			}
		}
		from = to
	}
	return hits
}

// exampleOfAWS ends the id of a key in the documents of AWS.
const exampleOfAWS = "EXAMPLE"

// isColored reports whether text ends with a sequence that sets the color of a terminal, such as ESC[31m.
func isColored(text string) bool {
	rest, found := strings.CutSuffix(text, "m")
	return found && strings.HasSuffix(strings.TrimRight(rest, digitChars+";"), "\x1b[")
}

// secretKeys returns the secret access keys of AWS in a text that has the id of such a key.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
func secretKeys(text string) (parts []part) {
	if !hasKeyID(text) {
		return nil
	}
	for from := 0; from < len(text); from++ {
		to := from
		for to < len(text) && base64Only[text[to]] {
			to++
		}
		if word := text[from:to]; len(word) == 40 && looksMixed(word) && strings.ContainsAny(word, digitChars) && caseChanges(word)*5 >= len(word)*2 {
			parts = append(parts, part{from: from, to: to})
		}
		from = to
	}
	return parts
}

func hasKeyID(text string) bool {
	for _, begin := range []string{"AKIA", "ASIA"} {
		for at := 0; ; {
			i := strings.Index(text[at:], begin)
			if i < 0 {
				break
			}
			at += i + len(begin)
			if n := alnumLength(text[at:]); n == 16 && upperChars.all(text[at:at+n]) {
				return true
			}
		}
	}
	return false
}

// prefixed returns the longest key with one of these prefixes at this position.
func prefixed(text string, at int, rows []prefixRow) (longest hit, found bool) {
	for _, p := range rows {
		rest := text[at:]
		if !strings.HasPrefix(rest, p.prefix) || p.row.chars == hexChars && at > 0 && strings.IndexByte("_-", text[at-1]) >= 0 {
			continue // cache_key_ and a hash is no key
		}
		rest = rest[len(p.prefix):]
		n := 0
		for n < len(rest) && p.row.chars[rest[n]] {
			n++
		}
		n = len(strings.TrimRight(rest[:n], ".-=_")) // the end of a sentence
		for (p.row.max == 0 || n < p.row.min) && n < len(rest) && p.row.chars[rest[n]] && rest[n] != '.' {
			n++
		}
		if n < p.row.min || p.row.max > 0 && n > p.row.max || p.row.vendor == "" && !alnum[rest[0]] {
			continue
		}
		if slices.Contains(namePrefixes, p.prefix) && !isMixed(rest[:n]) && caseChanges(rest[:n])*5 < n*2 {
			continue
		}
		exact := p.row.chars == upperChars && p.row.max > 0
		rises := minRises
		if p.row.vendor == "" {
			rises = minRisesOfAny
		}
		if to := at + len(p.prefix) + n; to > longest.to && (exact || isGenerated(rest[:n], rises)) {
			longest, found = hit{from: at, to: to, what: p.row.what(), known: true}, true
		}
	}
	return longest, found
}

// namePrefixes are prefixes of keys that names in code have, too, as in s.NameOfSomeMethod and test_NameOfSomeTest.
var namePrefixes = []string{"s.", "live_", "test_"}

// isGenerated reports whether the characters after a prefix are not words: names in style sheets
// also begin with sk-. Keys have a digit, or this number of upper-case letters after lower-case ones.
func isGenerated(text string, rises int) bool {
	for i := range len(text) {
		if isDigit(text[i]) {
			return true
		}
		if i > 0 && 'A' <= text[i] && text[i] <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z' {
			rises--
		}
	}
	return rises <= 0
}

const (
	minRises      = 2
	minRisesOfAny = 3  // of a prefix of several vendors
	minBase64     = 20 // length of base64 that is decoded
)

// around returns a key whose shape is known by another part than its beginning.
func around(text string, from, to int) (h hit, found bool) {
	word := text[from:to]
	switch {
	case len(word) > len("-us")+32 && len(word) <= len("-us99")+32 && word[32:35] == "-us" && hexChars.all(word[:32]):
		// https://mailchimp.com/developer/marketing/docs/fundamentals/
		return hit{from: from, to: to, what: "a key of Mailchimp", known: true}, true
	case len(word) == 50 && word[32] == '-' && word[41] == '-' && hexChars.all(word[:32]) && hexChars.all(word[33:41]) && hexChars.all(word[42:]):
		// https://documentation.mailgun.com/docs/mailgun/user-manual/api-key-mgmt/
		return hit{from: from, to: to, what: "a key of Mailgun", known: true}, true
	case len(word) == 32 && hexChars.all(word) && strings.HasPrefix(text[to:], "."):
		// https://docs.bigmodel.cn/cn/guide/develop/http/introduction
		if n := alnumLength(text[to+1:]); n == 16 && isGenerated(text[to+1:to+1+n], minRises) {
			return hit{from: from, to: to + 1 + n, what: "a key of Zhipu", known: true}, true
		}
	case len(word) == 36 && hexDash.all(word) && strings.Count(word, "-") == 4 && strings.HasPrefix(text[to:], ":"):
		// https://docs.fal.ai/model-apis/authentication
		if n := alnumLength(text[to+1:]); n == 32 && hexChars.all(text[to+1:to+1+n]) {
			return hit{from: from, to: to + 1 + n, what: "a key of fal", known: true}, true
		}
	case len(word) > 40 && len(word) <= 61 && word[len(word)-41] == '-' && strings.Trim(word[:len(word)-41], digitChars) == "" && len(word) >= 50 && alnum.all(word[len(word)-40:]) && !hexChars.all(word[len(word)-40:]):
		// https://docs.x.com/fundamentals/authentication/oauth-1-0a/api-key-and-secret
		return hit{from: from, to: to, what: "a token of X", known: true}, true
	case len(word) == 40 && strings.HasSuffix(word, "_mmk"):
		// https://dev.maxmind.com/license-key-tutorials/
		return hit{from: from, to: to, what: "a key of MaxMind", known: true}, true
	case len(word) == 6 && from > 0 && text[from-1] == '.' && to < len(text) && text[to] == '.':
		// https://discord.com/developers/docs/reference#authentication
		begin := from - 1
		for begin > 0 && nameChars[text[begin-1]] {
			begin--
		}
		end := to + 1
		for end < len(text) && nameChars[text[end]] {
			end++
		}
		if n := from - 1 - begin; n >= 24 && n <= 28 && strings.IndexByte("MNO", text[begin]) >= 0 && end-to-1 >= 27 {
			return hit{from: begin, to: end, what: "a token of Discord", known: true}, true
		}
	}
	return hit{}, false
}

func alnumLength(text string) int {
	for i := range len(text) {
		if !alnum[text[i]] {
			return i
		}
	}
	return len(text)
}

// base64In returns the suspected secrets in base64 in a word: in the whole, or else in its parts between slashes,
// as in a path.
func (o *Rules) base64In(text string, from, to, nested int) (hits []hit) {
	add := func(from, to int) {
		if what := o.inBase64Text(text[from:to], nested); what != "" {
			hits = append(hits, hit{from: from, to: to, what: what + ", in base64", known: true, encoded: true})
		}
	}
	if add(from, to); len(hits) > 0 || strings.IndexByte(text[from:to], '/') < 0 {
		return hits
	}
	for part := range strings.SplitSeq(text[from:to], "/") {
		if len(part) >= minBase64 {
			add(from, from+len(part))
		}
		from += len(part) + len("/")
	}
	return hits
}

// inBase64Text returns what a word contains if it is text in base64. It is empty if it contains no
// secret.
func (o *Rules) inBase64Text(word string, nested int) string {
	const start = 32
	if plain, ok := fromBase64(word[:min(len(word), start)]); !ok || !isText(plain) {
		return ""
	}
	plain, ok := fromBase64(word)
	if !ok || !isText(plain) {
		return ""
	}
	for _, h := range o.findPlain(plain, nested) {
		if h.known {
			return h.what
		}
	}
	for _, p := range o.namedParts(&leaf{place: place{kind: kindBody}, text: plain}, 0) {
		if p.to-p.from >= minNamed {
			return "a named secret"
		}
	}
	return ""
}

const minNamed = 6 // length of a named secret in base64

var urlBase64 = strings.NewReplacer("-", "+", "_", "/")

// fromBase64 decodes as much of a word as makes whole bytes.
func fromBase64(word string) (plain string, ok bool) {
	if strings.ContainsAny(word, "-_") {
		word = urlBase64.Replace(word)
	}
	if len(word)%4 == 1 {
		word = word[:len(word)-1]
	}
	out, err := base64.RawStdEncoding.DecodeString(word)
	return string(out), err == nil
}

// isText reports whether text has no control characters, and is UTF-8 except for its end.
func isText(text string) bool {
	for i, r := range text {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f || r == utf8.RuneError && len(text)-i > utf8.UTFMax {
			return false
		}
	}
	return true
}
