package convert

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

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
		Body    vcrpyBody `yaml:"body"`
		Headers headers   `yaml:"headers"`
		Method  text      `yaml:"method"`
		URI     text      `yaml:"uri"`
	}
	vcrpyResponse struct {
		Body    *vcrpyBody  `yaml:"body"`
		Headers headers     `yaml:"headers"`
		Status  vcrpyStatus `yaml:"status"`

		// Old recordings of httpx have these.
		Content *vcrpyBody `yaml:"content,omitempty"`
		Code    int        `yaml:"status_code,omitempty"`
		Proto   string     `yaml:"http_version,omitempty"`
	}
	vcrpyStatus struct {
		Code    int  `yaml:"code"`
		Message text `yaml:"message"`
	}
)

// vcrpyBody is a string or a mapping with a string.
type vcrpyBody struct {
	bytes  []byte
	nested bool // in a mapping
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (b *vcrpyBody) UnmarshalYAML(n *yaml.Node) error {
	if strings.HasPrefix(n.Tag, "!!python/object") {
		return fmt.Errorf("yaml: line %d: the body is an object of Python (%s); record it again with a body of bytes or text", n.Line, n.Tag)
	}
	if n.Kind == yaml.ScalarNode {
		s, err := decodeNode[text](n)
		b.bytes = []byte(s)
		return err
	}
	v, err := decodeNode[struct {
		String text
		Base64 text `yaml:"base64_string"`
	}](n)
	if err != nil {
		return err
	}
	b.bytes = []byte(v.String)
	if v.Base64 != "" {
		b.bytes, err = base64.StdEncoding.DecodeString(string(v.Base64))
	}
	return err
}

// MarshalYAML implements yaml.Marshaler.
func (b vcrpyBody) MarshalYAML() (any, error) {
	switch {
	case b.nested:
		return map[string]text{"string": text(b.bytes)}, nil
	case len(b.bytes) == 0:
		return nil, nil
	}
	return text(b.bytes), nil
}

func readVCRPy(n *yaml.Node) (*recording.Interaction, error) {
	v, err := decodeNode[vcrpy](n)
	if err != nil {
		return nil, err
	}
	if v.Response.Body == nil {
		v.Response.Body = v.Response.Content
	}
	if v.Response.Body == nil {
		return nil, errors.New("the response has no body")
	}
	x := &recording.Interaction{
		Request: recording.Request{Method: string(v.Request.Method), URL: string(v.Request.URI), Header: v.Request.Headers.header(), Body: v.Request.Body.bytes},
		Response: recording.Response{
			Status: v.Response.Status.Code + v.Response.Code, Reason: string(v.Response.Status.Message), Proto: v.Response.Proto,
			Header: unframed(v.Response.Headers.header()), Body: v.Response.Body.bytes,
		},
	}
	decoded(&x.Response)
	x.Response.Chunked = lengthUnknown(&x.Response)
	return x, nil
}

// writeVCRPy writes URLs in the form of Python clients.
func writeVCRPy(_ recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	doc := document[vcrpy]{Version: 1, Interactions: []vcrpy{}}
	for _, x := range list {
		doc.Interactions = append(doc.Interactions, vcrpy{
			Request: vcrpyRequest{Body: vcrpyBody{bytes: x.Request.Body}, Headers: headersOf(x.Request.Header), Method: text(x.Request.Method), URI: text(tape.EscapedURL(x.Request.URL))},
			Response: vcrpyResponse{
				Body: &vcrpyBody{bytes: x.Response.Body, nested: true}, Headers: headersOf(x.Response.Header),
				Status: vcrpyStatus{Code: x.Response.Status, Message: text(x.Response.StatusText())},
			},
		})
	}
	return writeYAML(doc, 2)
}
