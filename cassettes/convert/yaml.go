package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	yamlv2 "gopkg.in/yaml.v2"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/yamljson"
)

var errOldVCRPy = errors.New("unsupported format of vcrpy before version 1: migrate it with python -m vcr.migration FILE")

type document[T any] struct {
	Version      int `yaml:"version"`
	Interactions []T `yaml:"interactions"`
}

func (r *reader) yaml(src []byte) error {
	top, err := yamljson.Parse(src)
	if err != nil {
		return r.yamlError(err)
	}
	return r.document(top)
}

func (r *reader) document(top *yaml.Node) error {
	if len(top.Content) == 0 {
		return errUnknown
	}
	switch top.Content[0].Kind {
	case yaml.SequenceNode:
		if list := top.Content[0].Content; len(list) > 0 && child(list[0], "request") != nil {
			return errOldVCRPy
		}
		return errUnknown
	case yaml.MappingNode:
	default:
		return errUnknown
	}
	var doc document[yaml.Node]
	if err := top.Decode(&doc); err != nil {
		return r.yamlError(err)
	}
	f, err := dialect(&doc)
	if err != nil {
		return err
	}
	r.Metadata.Recorder, r.Format = f.recorder, f.Format
	for _, n := range doc.Interactions {
		r.line = n.Line
		x, err := (*recording.Interaction)(nil), checkHTTP(&n)
		if err == nil {
			x, err = f.read(&n)
		}
		if err != nil {
			err = r.yamlError(err)
		}
		if err := r.add(x, err); err != nil {
			return err
		}
	}
	return nil
}

func dialect(doc *document[yaml.Node]) (f format, err error) {
	var first struct {
		Request *struct{ URI *yaml.Node }
	}
	if len(doc.Interactions) > 0 {
		_ = doc.Interactions[0].Decode(&first) // reported when it is read
	}
	isVCRPy := doc.Version <= 1 && first.Request != nil && first.Request.URI != nil
	if isVCRPy {
		doc.Version = 1 // vcrpy does not require it
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.version == doc.Version && (f.Format == VCRPy) == isVCRPy })
	switch {
	case doc.Version == 0, doc.Interactions == nil:
		return f, errUnknown
	case i < 0:
		return f, fmt.Errorf("%w: the version of the cassette is %d; go-vcr has 1 and 2, vcrpy 1", errUnknown, doc.Version)
	}
	return formats[i], nil
}

// checkHTTP returns an error for an interaction that is not a mapping or has another protocol than
// HTTP.
func checkHTTP(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind != yaml.MappingNode:
		return errors.New("want a mapping with a request and a response")
	case len(n.Content) == 0, child(n, "request") != nil:
		return nil
	}
	var names []string
	for i := 0; i < len(n.Content); i += 2 {
		names = append(names, n.Content[i].Value)
	}
	return fmt.Errorf("no request of HTTP, but %s: messages of WebSocket and calls of gRPC are not supported", strings.Join(names, ", "))
}

func decodeNode[T any](n *yaml.Node) (out T, err error) {
	err = n.Decode(&out)
	return out, err
}

// yamlError removes the line from an error of YAML and keeps it in r.line.
func (r *reader) yamlError(err error) error {
	text := err.Error()
	if all, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = "yaml: " + all.Errors[0]
	}
	var line int
	if _, scan := fmt.Sscanf(text, "yaml: line %d:", &line); scan != nil {
		return err
	}
	r.line = line
	_, what, _ := strings.Cut(text, ": line ")
	_, what, _ = strings.Cut(what, ": ")
	return errors.New(what)
}

func (r *reader) json(src []byte) error {
	log, hasInteractions, ok := readMembers(src)
	if !ok {
		var top any
		if err := json.Unmarshal(src, &top); err != nil {
			return r.jsonError(err, len(r.src)-len(src))
		}
		r.Invalid = r.notUTF8()
		src = validUTF8(src)
		r.src = src
		log, hasInteractions, _ = readMembers(src)
	}
	switch {
	case log != nil:
		return r.har(log)
	case !hasInteractions:
		return errUnknown
	}
	defer func() { r.line, r.Lines, r.Format = 0, nil, "" }() // the file would be written as YAML

	mem := jsonio.Arena{BlockSize: len(src) + 64} // all strings fit, with the rest that the decoder needs
	d := jsonio.NewValidDecIn(&mem, jsonio.View(src))
	return r.document(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{nodeOf(&d)}})
}

// listsRequests reports whether the first element of a JSON list has a request.
func listsRequests(src []byte) bool {
	d := jsonio.NewDec(jsonio.View(src))
	for range d.Elements() {
		if d.Peek() != '{' {
			return false
		}
		for name := range d.Members() {
			if name == "request" {
				return true
			}
			d.Skip()
		}
		return false
	}
	return false
}

// readMembers finds the known members of a file; ok is false if the file is not valid JSON.
func readMembers(src []byte) (log *harMembers, hasInteractions, ok bool) {
	d := jsonio.NewDec(jsonio.View(src))
	for name := range d.Members() {
		if strings.EqualFold(name, "log") {
			log = readHARMembers(&d)
			continue
		}
		hasInteractions = hasInteractions || strings.EqualFold(name, "interactions")
		d.Skip()
	}
	return log, hasInteractions, d.End() == nil && jsonio.ValidUTF8(src)
}

// notUTF8 returns the error for the first byte that is not UTF-8; nil if there is none.
func (r *reader) notUTF8() error {
	for at := 0; at < len(r.src); {
		c, size := utf8.DecodeRune(r.src[at:])
		if c == utf8.RuneError && size == 1 {
			err := fmt.Errorf("the byte %#02x at offset %d is not UTF-8: convert the file to UTF-8", r.src[at], at)
			return &recording.FormatError{File: r.name, Line: r.lineAt(at), Err: err}
		}
		at += size
	}
	return nil
}

// validUTF8 replaces each byte that is not part of UTF-8, as package encoding/json does.
func validUTF8(src []byte) []byte {
	var out []byte
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		out = utf8.AppendRune(out, r)
		src = src[size:]
	}
	return out
}

// nodeOf reads a valid JSON value as YAML, with the members in the order of their names. The last of
// several members with the same name counts.
func nodeOf(d *jsonio.Dec) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch d.Peek() {
	case '{':
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		members := map[string]*yaml.Node{}
		for name := range d.Members() {
			members[name] = nodeOf(d)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			n.Content = append(n.Content, textNode(name), members[name])
		}
	case '[':
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for range d.Elements() {
			n.Content = append(n.Content, nodeOf(d))
		}
	case '"':
		return textNode(d.String())
	case 'n':
		n.Tag, n.Value = "!!null", "null"
		d.Skip()
	default: // a number, true or false
		n.Value = yamlNumber(d.Raw())
		n.Tag = n.ShortTag()
	}
	return n
}

func textNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}

// yamlNumber returns a JSON number in a form that is a number in YAML 1.1 as well, which
// requires a point and the sign of an exponent. It returns true and false unchanged.
func yamlNumber(text string) string {
	digits, exponent, ok := strings.Cut(strings.ToLower(text), "e")
	if !ok || exponent == "" {
		return text
	}
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	if exponent[0] != '-' {
		exponent = "+" + strings.TrimPrefix(exponent, "+")
	}
	return digits + "e" + exponent
}

func writeYAML(doc any, indent int) ([]byte, error) {
	src, err := yamlv2.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(src, &n); err != nil {
		return nil, err
	}
	quote(&n)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(indent)
	if err := enc.Encode(&n); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// quote puts strings in double quotes that some readers would change, so that all readers
// restore them byte for byte.
func quote(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "!!merge") && !isSimple(n.Value) {
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	}
	for _, part := range n.Content {
		quote(part)
	}
}

// noText matches text that YAML 1.1 readers (yaml.org/type) decode as another type, and
// that the encoder does not quote: a value key, a merge key, numbers and times.
var noText = regexp.MustCompile(`^(=|<<|[-+]?0[bx]_+|[-+]?[0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[Tt \t][0-9:. \tZ+-]+)$`)

func isSimple(s string) bool {
	return strings.TrimLeft(s, " \n") == s && !noText.MatchString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && !unicode.IsPrint(r)
	})
}

// values are the values of a header: a list or a single value.
type values []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *values) UnmarshalYAML(n *yaml.Node) error {
	*v = values{""}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&(*v)[0])
	}
	return n.Decode((*[]string)(v))
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *values) UnmarshalJSON(src []byte) error {
	if src[0] == '"' {
		d := jsonio.NewValidDec(jsonio.View(src))
		*v = values{strings.Clone(d.String())}
		return nil
	}
	*v = values{""}
	return json.Unmarshal(src, (*[]string)(v))
}

// MarshalJSON implements json.Marshaler.
func (v values) MarshalJSON() ([]byte, error) { return jsonio.AppendString(nil, v[0]), nil }

type headers map[string]values

func headersOf(h http.Header) headers {
	out := headers{}
	for name, list := range filledHeader(h) {
		out[name] = list
	}
	return out
}

func (h headers) header() http.Header { return canonicalHeader(h) }

// canonicalHeader returns a header with canonical names; names that were different come in
// their order.
func canonicalHeader[V ~[]string](h map[string]V) http.Header {
	out := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out.Add(name, v)
		}
	}
	return out
}

// filledHeader returns a header without names that have no value.
func filledHeader(h http.Header) http.Header {
	out := http.Header{}
	for name, list := range h {
		if len(list) > 0 {
			out[name] = list
		}
	}
	return out
}

func trailer(h http.Header) http.Header {
	if len(h) == 0 {
		return nil
	}
	return canonicalHeader(h)
}
