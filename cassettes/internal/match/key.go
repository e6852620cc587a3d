package match

import (
	"crypto/sha256"
	"encoding/binary"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// matching is how requests are told apart: by the session, the method, the URL, the host if
// it is another one, and the body without its Content-Encoding, whose volatile fields do
// not count and whose JSON is compared as JSON.
type Matcher struct {
	Ignore []string
	Secret []string
	Own    func(*recording.Request) string
	// custom is true if there are redactors, whose effect the name cannot tell.
	Custom bool
}

// matchVersion is raised when the same requests come to other keys.
const matchVersion = "2"

// name tells one matching from others; it is empty if it cannot be told.
func (m Matcher) Name() string {
	if m.Own != nil || m.Custom {
		return ""
	}
	var words []string
	for _, v := range m.Ignore {
		words = append(words, matchWord(v))
	}
	for _, name := range m.Secret {
		words = append(words, "-"+matchWord(name))
	}
	slices.Sort(words)
	return strings.Join(append([]string{matchVersion}, words...), " ")
}

// matchWord is a word of a name, without white space.
func matchWord(text string) string {
	return tape.EscapedURL(strings.ReplaceAll(text, "%", "%25"))
}

// matchingOf is the matching of a name, whose version does not count.
func ParseMatcher(name string) (m Matcher) {
	_, words, _ := strings.Cut(name, " ")
	for word := range strings.SplitSeq(words, " ") {
		text, err := url.PathUnescape(word)
		if err != nil { // an older name stands as it is
			text = word
		}
		if secret, found := strings.CutPrefix(text, "-"); found {
			m.Secret = append(m.Secret, secret)
		} else if text != "" {
			m.Ignore = append(m.Ignore, text)
		}
	}
	return m
}

// keys makes all keys of a recorded request.
func (m Matcher) Keys(session string, r *recording.Request) tape.Keys {
	k := m.key(session, r)
	k.Sent = sentKey(session, r)
	return k
}

// key makes the keys of a request by what it means.
func (m Matcher) key(session string, r *recording.Request) (k tape.Keys) {
	text := m.text(session, r)
	k.Exact = digest(text)
	if bare := plainRedacted(text); len(bare) != len(text) {
		k.Bare = digest(bare)
	}
	return k
}

// sentKey is what a request that is the same byte by byte, in all that any matching by
// options looks at, is known by: such requests have the same exact key, too. It is found
// without reading the JSON, and as fast as can be: XXH64.
func sentKey(session string, r *recording.Request) uint64 {
	words := [...]string{session, r.Method, tape.EscapedURL(r.URL), r.Header.Get("Host"), r.Header.Get("Content-Type"), ContentEncoding(r.Header)}
	head := make([]byte, 0, 256) // a bit more than most need
	for _, word := range words {
		head = append(strconv.AppendInt(head, int64(len(word)), 10), ' ')
		head = append(append(head, word...), '\n')
	}
	var sum xxhash.Digest
	sum.Reset()
	_, _ = sum.Write(head) // which takes everything
	_, _ = sum.Write(r.Body)
	return sum.Sum64()
}

func digest(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// text is what the keys are made of: other requests have other texts.
func (m Matcher) text(session string, r *recording.Request) []byte {
	dst := make([]byte, 0, len(session)+len(r.URL)+len(r.Body)+64) // a bit more than most need
	for _, word := range []string{session, r.Method, m.url(r.URL), OtherHost(r)} {
		length := len(word)
		if strings.Contains(word, "redacted") { // secrets may be of other lengths
			length = len(plainRedacted([]byte(word)))
		}
		dst = append(strconv.AppendInt(dst, int64(length), 10), ' ')
		dst = append(append(dst, word...), '\n')
	}
	if m.Own != nil {
		return append(dst, m.Own(r)...)
	}
	return m.appendBody(dst, r.Header.Get("Content-Type"), Decode(r.Header, r.Body).Plain)
}

// urlencoded is the type of a body that is a form.
const FormType = "application/x-www-form-urlencoded"

// mediaType is the type of a body, and what stands between its parts, if it has any.
func MediaType(contentType string) (kind, boundary string) {
	if !strings.Contains(contentType, ";") {
		return strings.ToLower(strings.TrimSpace(contentType)), ""
	}
	kind, params, _ := mime.ParseMediaType(contentType)
	return kind, params["boundary"]
}

// appendBody writes a body in the one spelling of what it means, behind its kind: what
// is JSON is another thing than bytes that look like its spelling.
func (m Matcher) appendBody(dst []byte, contentType string, body []byte) []byte {
	kind, boundary := MediaType(contentType)
	switch {
	case kind == FormType:
		return append(append(dst, "form "...), textOf(m.fields(string(body)))...)
	case boundary != "": // clients make up another one each time
		return appendParts(append(dst, "parts "...), boundary, string(body))
	}
	s := speller{m: m, d: jsonio.NewDec(jsonio.View(body)), dst: append(dst, "json "...)}
	s.value(nil)
	if s.d.End() != nil || !jsonio.ValidUTF8(body) {
		return append(append(dst, "bytes "...), body...)
	}
	return s.dst
}

// isVolatile reports whether a path into JSON is one of those that do not count.
func (m Matcher) isVolatile(path []string) bool {
	return slices.ContainsFunc(m.Ignore, func(v string) bool { return PointerMatches(v, path) })
}

// sameAs reports whether a pointer, whose * stands for any name or index, is a path.
func PointerMatches(pointer string, path []string) bool {
	for i, name := range path {
		word, rest, more := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if pointer == "" || pointer[0] != '/' || more != (i < len(path)-1) {
			return false
		}
		word = strings.ReplaceAll(strings.ReplaceAll(word, "~1", "/"), "~0", "~")
		if word != "*" && word != name {
			return false
		}
		pointer = "/" + rest
	}
	return len(path) > 0
}
