package convert

import (
	"encoding/base64"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// An interaction as vcrpy writes it (vcr/request.py, vcr/serializers/compat.py and the
// stubs of its clients).
type (
	vcrpy struct {
		Request  vcrpyRequest  `yaml:"request"`
		Response vcrpyResponse `yaml:"response"`
	}
	vcrpyRequest struct {
		Body    vcrpyBody  `yaml:"body"`
		Parsed  parsedBody `yaml:"parsed_body,omitempty"`
		Headers headers    `yaml:"headers"`
		Method  string     `yaml:"method"`
		URI     string     `yaml:"uri"`
	}
	vcrpyResponse struct {
		Body    *vcrpyBody  `yaml:"body"`
		Parsed  parsedBody  `yaml:"parsed_body,omitempty"`
		Headers headers     `yaml:"headers"`
		Status  vcrpyStatus `yaml:"status"`

		// Old recordings of httpx have these.
		Content *vcrpyBody `yaml:"content,omitempty"`
		Code    int        `yaml:"status_code,omitempty"`
		Proto   string     `yaml:"http_version,omitempty"`
	}
	vcrpyStatus struct {
		Code    int    `yaml:"code"`
		Message string `yaml:"message"`
	}
)

// vcrpyBody is a string, a mapping with a string or, as some clients pass it, a JSON value.
type vcrpyBody struct {
	bytes  []byte
	nested bool // in a mapping
	parsed bool // a JSON value
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (b *vcrpyBody) UnmarshalYAML(n *yaml.Node) (err error) {
	var s string
	b.nested = n.Kind == yaml.MappingNode
	switch value, encoded := child(n, "string"), child(n, "base64_string"); {
	case n.Kind == yaml.ScalarNode:
		err = n.Decode(&s)
	case encoded != nil:
		if err = encoded.Decode(&s); err == nil {
			b.bytes, err = base64.StdEncoding.DecodeString(s)
		}
		return err
	case value != nil:
		err = value.Decode(&s)
	default:
		b.parsed = true
		return (*parsedBody)(&b.bytes).UnmarshalYAML(n)
	}
	b.bytes = []byte(s)
	return err
}

// MarshalYAML implements yaml.Marshaler.
func (b vcrpyBody) MarshalYAML() (any, error) {
	switch {
	case b.nested:
		return map[string]string{"string": string(b.bytes)}, nil
	case len(b.bytes) == 0:
		return nil, nil
	}
	return string(b.bytes), nil
}

func readVCRPy(n *yaml.Node) (*recording.Interaction, error) {
	if err := fromPython(n); err != nil {
		return nil, err
	}
	v, err := decodeNode[vcrpy](n)
	if err != nil {
		return nil, err
	}
	got, err := v.Response.body()
	if err != nil {
		return nil, err
	}
	x := &recording.Interaction{
		Request: recording.Request{
			Method: v.Request.Method, URL: v.Request.URI, Header: v.Request.Headers.header(),
			Body: v.Request.body(),
		},
		Response: recording.Response{
			Status: v.Response.Status.Code + v.Response.Code, Reason: v.Response.Status.Message, Proto: v.Response.Proto,
			Header: unframed(v.Response.Headers.header()), Body: got,
		},
	}
	decoded(&x.Response)
	x.Response.Chunked = lengthUnknown(&x.Response)
	return x, nil
}

func (r *vcrpyRequest) body() []byte {
	if r.Parsed != nil {
		return r.Parsed
	}
	return r.Body.bytes
}

// body returns the body of a response. Like the serializer of pydantic-ai, it prefers
// parsed_body.
func (r *vcrpyResponse) body() ([]byte, error) {
	if r.Body == nil {
		r.Body = r.Content
	}
	switch {
	case r.Parsed != nil:
		return r.Parsed, nil
	case r.Body == nil:
		return nil, errors.New("the response has no body")
	case r.Body.parsed:
		return nil, errors.New("the body of the response is neither text nor a mapping with string or base64_string")
	}
	return r.Body.bytes, nil
}

// writeVCRPy writes URLs in the form of Python clients.
func writeVCRPy(_ recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	doc := document[vcrpy]{Version: 1, Interactions: []vcrpy{}}
	for _, x := range list {
		doc.Interactions = append(doc.Interactions, vcrpy{
			Request: vcrpyRequest{Body: vcrpyBody{bytes: x.Request.Body}, Headers: headersOf(x.Request.Header), Method: x.Request.Method, URI: tape.EscapedURL(x.Request.URL)},
			Response: vcrpyResponse{
				Body: &vcrpyBody{bytes: x.Response.Body, nested: true}, Headers: headersOf(x.Response.Header),
				Status: vcrpyStatus{Code: x.Response.Status, Message: x.Response.StatusText()},
			},
		})
	}
	return writeYAML(doc, 2)
}
