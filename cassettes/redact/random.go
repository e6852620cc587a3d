package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// idWords are prefixes of ids that providers generate.
var idWords = []string{"chatcmpl-", "cmpl-", "gen-", "resp_", "msg_", "rs_", "fc_", "ws_", "ig_", "call_", "toolu_", "srvtoolu_", "req_", "run_", "thread_", "asst_", "batch_", "file-", "file_", "container_", "cntr_"}

func isIDWord(word string) bool {
	return slices.ContainsFunc(idWords, func(begin string) bool { return strings.HasPrefix(word, begin) })
}

const (
	minShape  = 15  // length of the shortest shape
	minRandom = 32  // minimum length of a word that can be recognized as random
	maxRandom = 512 // maximum length of a secret; longer words are media
	// minEntropy is the minimum entropy per character, in bits: 32 characters out of 62
	// have 4.6, out of 36 still 4.3.
	minEntropy = 3.9
	// maxRun is the maximum average number of characters per change between letters and
	// digits. Random characters out of 62 change after 3.7, out of 36 after 2.5. Names,
	// paths and dates change less often.
	maxRun = 10
	// minPerSlash is the minimum number of characters per slash. Paths have more slashes
	// than base64.
	minPerSlash = 20
)

// randomIn returns the random words in a word: the word, or the parts of a path.
func (o *Rules) randomIn(text string, from, to int) (hits []hit) {
	word := text[from:to]
	if len(word) > maxRandom || isPublic(text, from, to) {
		return nil
	}
	if !isPath(word) {
		if o.isSecretWord(text, from, to) {
			return []hit{{from: from, to: to, what: "a random word"}}
		}
		return nil
	}
	for part := range strings.SplitSeq(word, "/") {
		if len(part) >= minRandom && o.isSecretWord(text, from, from+len(part)) {
			hits = append(hits, hit{from: from, to: from + len(part), what: "a random word"})
		}
		from += len(part) + len("/")
	}
	return hits
}

// isSecretWord reports whether the word in text looks random, and is not an id, media, or the token
// of a redirect by its context.
func (o *Rules) isSecretWord(text string, from, to int) bool {
	word, before := text[from:to], text[:from]
	switch {
	case isIDWord(word), isAddress(word), assetEnd.MatchString(text[to:min(len(text), to+maxAssetEnd)]), strings.HasSuffix(before, ";base64,"), strings.HasSuffix(before, "grounding-api-redirect/"), strings.HasSuffix(before, "/d/"):
		return false
	}
	rest := residue(word)
	if len(rest) < minResidue || !isRandom(rest) {
		return false
	}
	if field, found := strings.CutSuffix(before, "="); found {
		if name, ok := queryName(field); ok && o.isOpaque(&place{name: name}) {
			return false
		}
	}
	plain, ok := fromBase64(word)
	return !ok || !isText(plain) || !strings.Contains(plain, " ") && (plain[0] != '{' || len(o.findPlain(plain, 0)) > 0)
}

// assetEnd matches the end of the name of a media file.
var assetEnd = regexp.MustCompile(`^\.(?:jpe?g|png|gif|webp|svg|ico|mp[34]|wav|webm|pdf|css|js|woff2?)(?:[^A-Za-z0-9]|$)`)

const maxAssetEnd = 8

// isPath reports whether a part of a word between slashes is a word of a language or a hash.
func isPath(word string) bool {
	if !strings.Contains(word, "/") {
		return false
	}
	for part := range strings.SplitSeq(word, "/") {
		if len(part) >= 6 && !isUpper(part[len(part)-1]) && isWordLike(part) || len(part) >= minRandom && hexChars.all(part) || slices.Contains(domains, part) {
			return true
		}
	}
	return false
}

// domains are short parts of paths.
var domains = []string{"com", "org", "net", "jpg", "api", "www"}

// residue returns a word without its parts between -, _ and / that are words, numbers or hexadecimal.
func residue(word string) string {
	if !strings.ContainsAny(word, "-_") {
		return word
	}
	rest := make([]byte, 0, len(word))
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '-' || r == '_' || r == '/' }) {
		if len(part) >= 4 && (isWordLike(part) || hexChars.all(part)) {
			continue
		}
		rest = append(rest, part...)
	}
	return string(rest)
}

// isWordLike reports whether text has only letters, in the case of words, names or constants.
func isWordLike(text string) bool {
	upper := 0
	for i := range len(text) {
		if !isLetter(text[i]) {
			return false
		}
		if isUpper(text[i]) {
			upper++
		}
	}
	return upper == len(text) || upper*minPerUpper <= len(text)
}

const (
	minPerUpper = 5  // letters per upper-case letter in names such as fileSearchStores
	minResidue  = 24 // length of the rest of a random word without words
)

// isRandom reports whether a word looks random and is not a hexadecimal hash or id.
func isRandom(word string) bool {
	var count [256]int
	hex := true
	for i := range len(word) {
		c := word[i]
		count[c]++
		hex = hex && (isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' || c == '-')
	}
	if hex || changes(word)*maxRun < len(word) || count['/']*minPerSlash > len(word) {
		return false
	}
	entropy := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(word))
			entropy -= p * math.Log2(p)
		}
	}
	return entropy >= minEntropy
}

func changes(word string) (n int) {
	for i := 1; i < len(word); i++ {
		if isLetter(word[i]) && isDigit(word[i-1]) || isDigit(word[i]) && isLetter(word[i-1]) {
			n++
		}
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
