package cassettes

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// matching is how requests are told apart: by the lane, the method, the URL, and the
// body without its Content-Encoding, whose volatile fields do not count and whose JSON
// is compared as JSON.
type matching struct {
	volatile []string
	secret   []string
	own      func(*Request) string
	redact   []Redactor
}

// matchVersion is raised when the same requests come to other keys.
const matchVersion = "1"

// name tells one matching from others; it is empty if it cannot be told.
func (m matching) name() string {
	if m.own != nil || m.redact != nil {
		return ""
	}
	words := slices.Clone(m.volatile)
	for _, name := range m.secret {
		words = append(words, "-"+name)
	}
	slices.Sort(words)
	return strings.Join(append([]string{matchVersion}, words...), " ")
}

// key is what a request, which is redacted, is known by.
func (m matching) key(lane string, r *Request) uint64 {
	sum := sha256.Sum256(m.text(lane, r))
	return binary.BigEndian.Uint64(sum[:])
}

// keyText is a key as it stands in a file.
func keyText(key uint64) string { return fmt.Sprintf("%016x", key) }

// text is what the key is made of.
func (m matching) text(lane string, r *Request) []byte {
	dst := make([]byte, 0, len(lane)+len(r.URL)+len(r.Body)+64) // a bit more than most need
	dst = append(append(append(dst, lane...), '\n'), r.Method...)
	dst = append(append(dst, '\n'), m.url(r.URL)...)
	dst = append(dst, '\n')
	if m.own != nil {
		dst = append(dst, m.own(r)...)
	} else {
		dst = m.appendBody(dst, r.Header.Get("Content-Type"), decode(r.Header, r.Body).plain)
	}
	return plainRedacted(dst)
}

// url is the URL as a file has it, with its query in the order of the names.
func (m matching) url(text string) string {
	text = writtenURL(text)
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.Fragment = ""
	if u.RawQuery != "" {
		u.RawQuery = m.counting(u.Query()).Encode()
	}
	return u.String()
}

// counting is a query or a form, changed to what of it counts.
func (m matching) counting(fields url.Values) url.Values {
	for name := range fields {
		if slices.Contains(m.volatile, "?"+name) {
			delete(fields, name)
		}
	}
	return fields
}

// urlencoded is the type of a body that is a form.
const urlencoded = "application/x-www-form-urlencoded"

// mediaType is the type of a body, and what stands between its parts, if it has any.
func mediaType(contentType string) (kind, boundary string) {
	if !strings.Contains(contentType, ";") {
		return strings.ToLower(strings.TrimSpace(contentType)), ""
	}
	kind, params, _ := mime.ParseMediaType(contentType)
	return kind, params["boundary"]
}

// appendBody writes a body in the one spelling of what it means.
func (m matching) appendBody(dst []byte, contentType string, body []byte) []byte {
	kind, boundary := mediaType(contentType)
	switch {
	case kind == urlencoded:
		if form, err := url.ParseQuery(string(body)); err == nil {
			return append(dst, m.counting(form).Encode()...)
		}
	case boundary != "": // clients make up another one each time
		return append(dst, strings.ReplaceAll(string(body), boundary, "boundary")...)
	}
	s := speller{m: m, d: jsonio.NewDec(jsonio.View(body)), dst: dst}
	s.value(nil)
	if s.d.End() != nil || !jsonio.ValidUTF8(body) {
		return append(dst, body...)
	}
	return s.dst
}

// isVolatile reports whether a path into JSON is one of those that do not count.
func (m matching) isVolatile(path []string) bool {
	return slices.ContainsFunc(m.volatile, func(v string) bool { return sameAs(v, path) })
}

// sameAs reports whether a pointer, whose * stands for any name or index, is a path.
func sameAs(pointer string, path []string) bool {
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
