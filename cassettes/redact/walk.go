package redact

import (
	"encoding/base64"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/slab"
)

// leaf is a decoded text in an interaction. There may be millions, so it is small.
type leaf struct {
	place
	text string
}

type place struct {
	// name is the name of a header, field or member, or the index of an element.
	name   string
	at     *node // parent, within JSON
	event  int32 // from 1; 0 means no event
	part   side
	kind   kind
	secret bool // the whole text
}

type side uint8

const (
	sideRequest side = iota
	sideResponse
	sideMetadata // of a cassette
)

func (s side) String() string {
	return [...]string{sideRequest: "request", sideResponse: "response", sideMetadata: "head"}[s]
}

type kind uint8

const (
	kindURL kind = iota
	kindReason
	kindFailure
	kindHeader
	kindTrailer
	kindField // of a form
	kindName  // of a JSON member
	kindLine  // of an event, except its data
	kindBody
	kindNumber // in JSON
	kindSession
	kindMethod
	kindRecorder // in the metadata of a cassette
)

func (k kind) String() string {
	return [...]string{
		kindURL: "URL", kindReason: "reason", kindFailure: "failure", kindHeader: "header", kindTrailer: "trailer", kindField: "field", kindName: "name",
		kindLine: "line", kindBody: "body", kindNumber: "number", kindSession: "session", kindMethod: "method", kindRecorder: "by",
	}[k]
}

func (p *place) String() string {
	text := p.kind.String()
	if p.event > 0 {
		text = "event " + strconv.Itoa(int(p.event))
	}
	if p.at != nil {
		for _, name := range p.path() {
			text += "/" + name
		}
		return strings.Replace(text, "/", " /", 1)
	}
	if p.name != "" {
		text += " " + p.name
	}
	return text
}

func (p *place) path() (path []string) {
	name, at := p.name, p.at
	for {
		if name != "" {
			path = append(path, name)
		}
		if at == nil {
			slices.Reverse(path)
			return path
		}
		name, at = at.name, at.up
	}
}

// field returns the name that describes the text: that of its member or of its array. A
// member named value has the name of its parent.
func (p *place) field() string {
	name, f := p.name, p.at
	if f != nil && f.name != "" && isOneOf(valueMembers, name) {
		name, f = f.name, f.up
	}
	for ; f != nil && f.kind == '['; f = f.up {
		name = f.name
	}
	return name
}

// walker calls visit for the texts of requests and responses, in a fixed order, and
// replaces them by the results. It does not change other bytes.
type walker struct {
	visit func(i int, l leaf) string // i counts from 0
	o     *Rules                     // determines secret places

	part   side
	event  int32
	seen   int // texts so far
	bodies bodies
	skip   bodies // not visited
	nodes  slab.Slab[node]
}

// bodies has the index of the first text in the body of each side, and of the one after the last.
type bodies [sideMetadata]struct{ from, to int }

// walk calls visit for the texts of x, except those in skip. It returns the texts of the bodies.
func (o *Rules) walk(x *recording.Interaction, skip bodies, visit func(i int, l leaf) string) bodies {
	w := walker{o: o, visit: visit, skip: skip}
	w.request(&x.Request)
	w.response(&x.Response)
	return w.bodies
}

func (w *walker) request(r *recording.Request) {
	w.part = sideRequest
	r.URL = w.leaf(place{kind: kindURL}, r.URL)
	w.header(kindHeader, r.Header)
	r.Body = w.body(r.Header, r.Body)
	w.header(kindTrailer, r.Trailer)
}

func (w *walker) response(r *recording.Response) {
	w.part = sideResponse
	r.Reason = w.leaf(place{kind: kindReason}, r.Reason)
	w.header(kindHeader, r.Header)
	r.Body = w.body(r.Header, r.Body)
	w.header(kindTrailer, r.Trailer)
	r.Failure = w.leaf(place{kind: kindFailure}, r.Failure)
}

func (w *walker) header(k kind, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for i, v := range h[name] {
			if now := w.text(place{kind: k, name: name}, v); now != v {
				h[name][i] = now
			}
		}
	}
}

func (w *walker) leaf(p place, text string) string {
	if text == "" {
		return ""
	}
	p.part, p.event = w.part, w.event
	w.seen++
	return w.visit(w.seen-1, leaf{p, text})
}

func (w *walker) node(n node) *node {
	place := w.nodes.One()
	*place = n
	return place
}

// text visits a string, or the texts in it if it is JSON or JSON in base64.
func (w *walker) text(p place, text string) string {
	if p.secret = w.o.isSecret(&p, text); p.secret {
		return w.leaf(p, text)
	}
	if isJSON(text, containers) {
		return w.json(text, &p)
	}
	if strings.HasPrefix(text, objectInBase64) {
		plain, err := base64.StdEncoding.DecodeString(text)
		if was := jsonio.View(plain); err == nil && isJSON(was, containers) {
			if now := w.json(was, &p); now != was {
				return base64.StdEncoding.EncodeToString([]byte(now))
			}
			return text
		}
	}
	return w.leaf(p, text)
}

const objectInBase64 = "eyJ"

// The first bytes of JSON values.
const (
	containers = "{["
	numbers    = "-0123456789"
)

// isJSON reports whether text is a JSON value that begins with one of these bytes.
func isJSON(text, first string) bool { return begins(text, first) && jsonio.ValidText(text) }

func begins(text, first string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && strings.IndexByte(first, text[0]) >= 0
}

// patch replaces parts of text in order. It copies text only if there is a replacement.
type patch struct {
	text string
	out  strings.Builder
	done int // bytes of text in out
}

func (p *patch) put(at, length int, now string) {
	p.out.WriteString(p.text[p.done:at])
	p.out.WriteString(now)
	p.done = at + length
}

func (p *patch) set(at int, was, now string) {
	if now != was {
		p.put(at, len(was), now)
	}
}

func (p *patch) whole() string {
	if p.done == 0 {
		return p.text
	}
	p.out.WriteString(p.text[p.done:])
	return p.out.String()
}

// node is a JSON object or array, or the text that contains it.
type node struct {
	up   *node
	name string // in the parent
	// index is the value of index members, such as output_index. It separates interleaved
	// texts.
	index string

	// named is the value of the member name or key. It names the member value.
	named string
	isKey bool // a JSON Web Key, or an object below one

	key   string  // the current member
	count int     // the current element
	kind  byte    // { or [, or 0 for text
	below secrecy // of the texts in it, by the name of a collection
	value bool    // the name of the current member was read
}

func (n *node) child() string {
	if n.kind == '[' {
		return strconv.Itoa(n.count)
	}
	return n.key
}

// json visits the strings of valid JSON, long member names, and numbers that may be secret.
func (w *walker) json(text string, p *place) string {
	f, secret := w.node(node{up: p.at, name: p.name}), isManifest(text)
	hasKeys := strings.Contains(text, `"kty"`)
	out := patch{text: text}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			name := f.child()
			f = w.node(node{up: f, name: name, kind: c, below: w.o.collectionOf(f, name), isKey: f.isKey || hasKeys && c == '{' && isWebKey(text[i:])})
			if secret && slices.Contains(manifestData, name) {
				f.below = max(f.below, secretIfLikely)
			}
		case '}', ']':
			f = f.up
		case ',':
			f.count++
			f.value = false
		case ':':
			f.value = true
		case '"':
			end := i + tape.StringEnd(text[i:])
			was := unquoted(text[i:end])
			f.findName(text[end:])
			if now := w.string(f, was); now != was {
				out.put(i, end-i, string(jsonio.AppendString(nil, now)))
			}
			i = end - 1
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			was := text[i : len(text)-len(strings.TrimLeft(text[i:], "0123456789+-.eE"))]
			f.findName(text[i+len(was):])
			if strings.HasSuffix(f.key, "index") {
				f.index += was
			}
			if now := w.number(f, was); now != was {
				out.put(i, len(was), string(jsonio.AppendString(nil, now)))
			}
			i += len(was) - 1
		}
	}
	return out.whole()
}

// Members of an object with a name and its value, such as a variable of an environment. A label counts as the name if
// no other member has it.
var (
	nameMembers  = []string{"name", "key", "k", "variable"}
	labelMembers = []string{"header", "field", "label", "id", "type"}
	valueMembers = []string{"value", "val", "v"}
)

// isOneOf reports whether a name is in a list, in any case.
func isOneOf(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(name, s) })
}

// isSecretHeader reports whether text is the name of a header with a secret, such as X-Api-Key.
func (o *Rules) isSecretHeader(text string) bool {
	return len(text) <= maxName && strings.Contains(text, "-") && !strings.ContainsAny(text, "_ ") && o.secrecy(kindHeader, text) >= secretAlways ||
		strings.EqualFold(text, "Authorization") || strings.EqualFold(text, "Cookie")
}

// findName sets named, if the current member is a value and the name follows it in the rest of the object.
func (n *node) findName(rest string) {
	if n.kind != '{' || !n.value || n.named != "" || !isOneOf(valueMembers, n.key) {
		return
	}
	const most = 4 << 10 // bytes, so that the time is linear
	for name, text := range texts(rest[:min(len(rest), most)]) {
		if isOneOf(nameMembers, name) {
			n.named = text
			return
		}
	}
}

// isWebKey reports whether the object at the beginning of JSON is a JSON Web Key (RFC 7517).
func isWebKey(text string) bool {
	const most = 64 << 10 // bytes; certificates may precede the type
	for name := range texts(text[1:min(len(text), most)]) {
		if name == "kty" {
			return true
		}
	}
	return false
}

// texts yields the members that are strings in the rest of an object.
func texts(rest string) iter.Seq2[string, string] {
	return func(yield func(name, text string) bool) {
		name, depth := "", 0
		for i := 0; i < len(rest); i++ {
			switch rest[i] {
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth < 0 {
					return
				}
			case '"':
				end := i + tape.StringEnd(rest[i:])
				if depth > 0 {
					i = end - 1
					continue
				}
				said := unquoted(rest[i:end])
				if strings.HasPrefix(strings.TrimLeft(rest[end:], " \t\r\n"), ":") {
					name = said
				} else if !yield(name, said) {
					return
				}
				i = end - 1
			}
		}
	}
}

// string visits a value or a member name. A short name cannot contain a secret.
func (w *walker) string(f *node, text string) string {
	if f.kind == '{' && !f.value {
		f.key = text
		if len(text) < match.MinSecret && wordLength(text) == len(text) {
			return text
		}
		return w.leaf(place{kind: kindName, at: f}, text)
	}
	if isOneOf(nameMembers, f.key) || f.named == "" && isOneOf(labelMembers, f.key) {
		f.named = text
	}
	out := w.text(place{kind: kindBody, name: f.child(), at: f}, text)
	if f.kind == '[' { // of arguments of a command, or of headers
		if f.named = ""; strings.HasPrefix(text, "--") || w.o.isSecretHeader(text) {
			f.named = text
		}
	}
	return out
}

const minNumber = 4 // length of a secret number; flags and counts are shorter

func (w *walker) number(f *node, text string) string {
	p := place{kind: kindNumber, name: f.child(), at: f}
	p.secret = len(text) >= minNumber && w.o.isSecret(&p, text)
	if !p.secret && (len(text) < match.MinSecret || strings.ContainsAny(text, ".eE")) {
		return text
	}
	return w.leaf(p, text)
}

func unquoted(quoted string) string {
	d := jsonio.NewDec(quoted)
	return d.String()
}
