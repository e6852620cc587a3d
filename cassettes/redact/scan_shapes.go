package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// shape is the shape of a kind of secret.
type shape struct {
	what   string
	begins []string // literals, one of which occurs
	form   *regexp.Regexp
}

// shapes are keys and tokens with a known shape. The last group of a form is the secret.
var shapes = []shape{
	{"a key of Anthropic", []string{"sk-ant-"}, word(`sk-ant-[\w-]{16,}`)},
	{"a key", []string{"sk-"}, word(`sk-(?:proj-|svcacct-|admin-|or-v1-|lf-)?[A-Za-z0-9][\w-]{18,}`)},
	{"a key of Google", []string{"AIza"}, word(`AIza[\w-]{35}`)},
	{"a token of Google", []string{"ya29."}, word(`ya29\.[\w-]{20,}`)},
	{"a token of GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, word(`gh[pousr]_[A-Za-z0-9]{30,}`)},
	{"a token of GitHub", []string{"github_pat_"}, word(`github_pat_\w{22,}`)},
	{"a token of GitLab", []string{"glpat-"}, word(`glpat-[\w-]{20,}`)},
	{"a token of Slack", []string{"xox"}, word(`xox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{"a key of AWS", []string{"AKIA", "ASIA"}, word(`(?:AKIA|ASIA)[A-Z0-9]{16}`)},
	{"a token in JSON (JWT)", []string{"eyJ"}, word(`eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*`)},
	{privateKey, []string{"PRIVATE KEY"}, regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|.*))`)},
	{"a token of Hugging Face", []string{"hf_"}, word(`hf_[A-Za-z0-9]{30,}`)},
	{"a key of Groq", []string{"gsk_"}, word(`gsk_[A-Za-z0-9]{20,}`)},
	{"a token of Replicate", []string{"r8_"}, word(`r8_[A-Za-z0-9]{30,}`)},
	{"a key of Perplexity", []string{"pplx-"}, word(`pplx-[A-Za-z0-9]{30,}`)},
	{"a key of xAI", []string{"xai-"}, word(`xai-[A-Za-z0-9]{30,}`)},
	{"a key of Stripe", []string{"k_live_", "k_test_"}, word(`[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`)},
}

const privateKey = "a private key"

func word(form string) *regexp.Regexp { return regexp.MustCompile(`(?:^|[^A-Za-z0-9])(` + form + `)`) }

// hit is a suspected secret in text.
type hit struct {
	from, to int
	what     string
	known    bool // has a known shape
}

func findShapes(text string) (hits []hit) {
	if len(text) < minShape {
		return nil
	}
	for _, s := range shapes {
		if !slices.ContainsFunc(s.begins, func(b string) bool { return strings.Contains(text, b) }) {
			continue
		}
		for _, at := range s.form.FindAllStringSubmatchIndex(text, -1) {
			h := hit{at[2], at[3], s.what, true}
			// Names in style sheets also begin with sk-, but have no digit.
			hasDigit := strings.ContainsAny(text[h.from:h.to], "0123456789")
			if (hasDigit || s.what == privateKey) && !overlaps(hits, h) {
				hits = append(hits, h)
			}
		}
	}
	for from := 0; from < len(text); {
		to := from + wordLength(text[from:])
		h := hit{from, to, "a random word", false}
		if to-from >= minRandom && to-from <= maxRandom && isRandom(text[from:to]) && !isIDWord(text[from:to]) && !strings.HasSuffix(text[:from], ";base64,") && !overlaps(hits, h) {
			hits = append(hits, h)
		}
		from = to + 1
	}
	return hits
}

func overlaps(hits []hit, h hit) bool {
	return slices.ContainsFunc(hits, func(o hit) bool { return o.from < h.to && h.from < o.to })
}

func wordLength(text string) int {
	for i := range len(text) {
		if c := text[i]; !isNameByte(c) && c != '+' && c != '/' {
			return i
		}
	}
	return len(text)
}

// idWords are prefixes of ids that providers generate.
var idWords = []string{"chatcmpl-", "cmpl-", "gen-", "resp_", "msg_", "rs_", "fc_", "ws_", "ig_", "call_", "toolu_", "srvtoolu_", "req_", "run_", "thread_", "asst_", "batch_", "file-", "file_", "container_", "cntr_"}

func isIDWord(word string) bool {
	return slices.ContainsFunc(idWords, func(begin string) bool { return strings.HasPrefix(word, begin) })
}

const (
	// minShape is the length of the shortest shape.
	minShape = 15
	// minRandom is the minimum length of a word that can be recognized as random.
	minRandom = 32
	// maxRandom is the maximum length of a secret. Longer words are media.
	maxRandom = 512
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
