package redact

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/slab"
)

// leaf is a text in an interaction, as it is meant: without escapes and encodings. There
// may be millions, so that it is small.
type leaf struct {
	place
	text string
}

// place is where a text stands.
type place struct {
	// name is that of the header, of the field of a form, or of the member of an
	// object; of an element of an array the index.
	name   string
	at     *node // what it is in, if it is in JSON
	event  int32 // from 1; 0 if it is in none
	part   side
	kind   kind
	secret bool // all that stands there
}

// side is one of the parts of a recording.
type side uint8

const (
	sideRequest side = iota
	sideResponse
	sideHead // of a cassette
)

func (s side) String() string {
	return [...]string{sideRequest: "request", sideResponse: "response", sideHead: "head"}[s]
}

// kind is what a text is.
type kind uint8

const (
	kindURL kind = iota
	kindReason
	kindFailure
	kindHeader
	kindTrailer
	kindField // of a form
	kindName  // of a member in JSON
	kindLine  // of an event, beside its data
	kindBody
	kindNumber // in JSON
	kindSession
	kindMethod
	kindBy // in the head of a cassette
)

func (k kind) String() string {
	return [...]string{
		kindURL: "URL", kindReason: "reason", kindFailure: "failure", kindHeader: "header", kindTrailer: "trailer", kindField: "field", kindName: "name",
		kindLine: "line", kindBody: "body", kindNumber: "number", kindSession: "session", kindMethod: "method", kindBy: "by",
	}[k]
}

// String says where in a request or a response the text is.
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

// path leads to a text in JSON.
func (p *place) path() (path []string) {
	add := func(name string) {
		if name != "" {
			path = append(path, name)
		}
	}
	add(p.name)
	for f := p.at; f != nil; f = f.up {
		add(f.name)
	}
	slices.Reverse(path)
	return path
}

// field is the name that tells what a text is: that of its member, or of the array it
// is in. A member that is called value is what the one around it is.
func (p *place) field() string {
	name, f := p.name, p.at
	if f != nil && f.name != "" && name == "value" {
		name, f = f.name, f.up
	}
	for ; f != nil && f.kind == '['; f = f.up {
		name = f.name
	}
	return name
}

// walker shows the texts of requests and responses to visit, in the same order each
// time, and puts in their place what it returns. What holds no text that changes stays
// as it was, byte for byte.
type walker struct {
	visit func(leaf) string
	o     *Rules // which tell the secret places, whose texts are not looked into
	// skip, if there is one, tells how many texts a body has that need not be visited.
	skip func() int

	part   side
	event  int32
	seen   int   // texts so far
	bodies []int // how many of them the bodies so far have
	nodes  slab.Slab[node]
}

func (w *walker) request(r *recording.Request) {
	w.part = sideRequest
	r.URL = w.leaf(place{kind: kindURL}, r.URL, false)
	w.header(kindHeader, r.Header)
	r.Body = w.body(r.Header, r.Body)
	w.header(kindTrailer, r.Trailer)
}

func (w *walker) response(r *recording.Response) {
	w.part = sideResponse
	r.Reason = w.leaf(place{kind: kindReason}, r.Reason, false)
	w.header(kindHeader, r.Header)
	r.Body = w.body(r.Header, r.Body)
	w.header(kindTrailer, r.Trailer)
	r.Failure = w.leaf(place{kind: kindFailure}, r.Failure, false)
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

// leaf visits a text, which is secret or not.
func (w *walker) leaf(p place, text string, secret bool) string {
	if text == "" {
		return ""
	}
	p.part, p.event, p.secret = w.part, w.event, secret
	w.seen++
	return w.visit(leaf{p, text})
}

// node is a new object, array or text in one.
func (w *walker) node(n node) *node {
	place := w.nodes.One()
	*place = n
	return place
}

// text visits a text, or what is in it if it is JSON, or JSON in base64.
func (w *walker) text(p place, text string) string {
	if w.o.isSecret(&p, text) {
		return w.leaf(p, text, true)
	}
	if isObject(text) {
		return w.json(text, w.node(node{up: p.at, name: p.name}))
	}
	if strings.HasPrefix(text, objectInBase64) {
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil && isObject(jsonio.View(plain)) {
			was := jsonio.View(plain)
			if now := w.json(was, w.node(node{up: p.at, name: p.name})); now != was {
				return base64.StdEncoding.EncodeToString([]byte(now))
			}
			return text
		}
	}
	return w.leaf(p, text, false)
}

// objectInBase64 is {" in base64.
const objectInBase64 = "eyJ"

// isObject reports whether a text is an object or an array of JSON.
func isObject(text string) bool {
	return beginsJSON(text) && jsonio.ValidText(text)
}

// isNumber reports whether a text is a number of JSON.
func isNumber(text string) bool {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	return trimmed != "" && (trimmed[0] == '-' || isDigit(trimmed[0])) && jsonio.ValidText(text)
}

// beginsJSON reports whether a text begins as an object or an array of JSON does.
func beginsJSON(text string) bool {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	return trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[')
}
