package convert

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
)

// Names and order as in go-vcr v2, cassette/cassette.go, and v4, pkg/cassette/cassette.go. ID
// and V2 are nil for v2.
type (
	vcr struct {
		ID       *int        `yaml:"id,omitempty"`
		Request  vcrRequest  `yaml:"request"`
		Response vcrResponse `yaml:"response"`
	}
	vcrRequest struct {
		V2      *vcr2Request `yaml:",inline"`
		Body    text         `yaml:"body"`
		Form    headers      `yaml:"form"`
		Headers headers      `yaml:"headers"`
		URL     text         `yaml:"url"`
		Method  text         `yaml:"method"`
	}
	vcr2Request struct {
		Proto         string  `yaml:"proto"`
		ProtoMajor    int     `yaml:"proto_major"`
		ProtoMinor    int     `yaml:"proto_minor"`
		ContentLength int64   `yaml:"content_length"`
		Trailer       headers `yaml:"trailer,omitempty"`
		Host          text    `yaml:"host"`
	}
	vcrResponse struct {
		V2       *vcr2Response `yaml:",inline"`
		Body     text          `yaml:"body"`
		Headers  headers       `yaml:"headers"`
		Status   text          `yaml:"status"`
		Code     int           `yaml:"code"`
		Duration time.Duration `yaml:"duration"`
	}
	vcr2Response struct {
		Proto            string   `yaml:"proto"`
		ProtoMajor       int      `yaml:"proto_major"`
		ProtoMinor       int      `yaml:"proto_minor"`
		TransferEncoding []string `yaml:"transfer_encoding,omitempty"`
		Trailer          headers  `yaml:"trailer,omitempty"`
		ContentLength    int64    `yaml:"content_length"`
		Uncompressed     bool     `yaml:"uncompressed,omitempty"`
	}
)

// MarshalYAML implements yaml.Marshaler. go-vcr v4 omits empty members.
func (r vcrRequest) MarshalYAML() (any, error) {
	type always vcrRequest
	if r.V2 == nil {
		return always(r), nil
	}
	return struct {
		V2      *vcr2Request `yaml:",inline"`
		Body    text         `yaml:"body,omitempty"`
		Form    headers      `yaml:"form,omitempty"`
		Headers headers      `yaml:"headers,omitempty"`
		URL     text         `yaml:"url"`
		Method  text         `yaml:"method"`
	}(r), nil
}

func readGoVCR(n *yaml.Node) (*vcr, *recording.Interaction, error) {
	v := &vcr{Request: vcrRequest{V2: &vcr2Request{}}, Response: vcrResponse{V2: &vcr2Response{}}}
	err := n.Decode(v)
	sent, got := &v.Request, &v.Response
	return v, &recording.Interaction{
		Request: recording.Request{
			Method: string(sent.Method), URL: string(sent.URL), Header: sent.Headers.header(), Body: []byte(sent.Body),
		},
		Response: recording.Response{
			Status: got.Code, Reason: strings.TrimPrefix(string(got.Status), strconv.Itoa(got.Code)),
			Header: got.Headers.header(), Body: []byte(got.Body), Wait: got.Duration,
		},
	}, err
}

func readGoVCR1(n *yaml.Node) (*recording.Interaction, error) {
	_, x, err := readGoVCR(n)
	x.Request.Header.Del("Host") // Go clients do not send it
	x.Response.Chunked = lengthUnknown(&x.Response)
	return x, err
}

func readGoVCR2(n *yaml.Node) (*recording.Interaction, error) {
	v, x, err := readGoVCR(n)
	sent, got := v.Request.V2, v.Response.V2
	x.Request.Trailer, x.Response.Trailer = sent.Trailer.trailer(), got.Trailer.trailer()
	x.Response.Proto, x.Response.Uncompressed = got.Proto, got.Uncompressed
	x.Response.Chunked = got.ContentLength < 0
	x.Request.Header.Set("Host", string(sent.Host))
	if match.OtherHost(&x.Request) == "" {
		x.Request.Header.Del("Host")
	}
	if sent.ContentLength <= 0 && len(x.Request.Body) > 0 {
		x.Request.Header.Set("Transfer-Encoding", "chunked")
	}
	return x, err
}

func writeGoVCR(version int) func(recording.Metadata, []*recording.Interaction) ([]byte, error) {
	return func(_ recording.Metadata, list []*recording.Interaction) ([]byte, error) {
		doc := document[vcr]{Version: version, Interactions: []vcr{}}
		for i, x := range list {
			v, err := vcrOf(version, i, x)
			if err != nil {
				return nil, fmt.Errorf("interaction %d: %w", i+1, err)
			}
			doc.Interactions = append(doc.Interactions, v)
		}
		out, err := writeYAML(doc, 4)
		return append([]byte("---\n"), out...), err
	}
}

// vcrOf returns an interaction as go-vcr writes it. For v4 it adds what v4 compares: the
// protocol, length, host and form of a Go client.
func vcrOf(version, id int, x *recording.Interaction) (vcr, error) {
	r, err := sentOf(&x.Request)
	if err != nil {
		return vcr{}, err
	}
	got := &x.Response
	v := vcr{
		Request: vcrRequest{
			Body: text(x.Request.Body), Form: headersOf(http.Header(r.PostForm)), Headers: headersOf(r.Header),
			URL: text(r.URL.String()), Method: text(r.Method),
		},
		Response: vcrResponse{
			Body: text(got.Body), Headers: headersOf(got.Header), Code: got.Status, Duration: got.Wait,
			Status: text(strings.TrimSpace(strconv.Itoa(got.Status) + " " + got.StatusText())),
		},
	}
	if version == 1 {
		return v, nil
	}
	v.ID, v.Request.Form = &id, headersOf(http.Header(r.Form))
	v.Request.V2 = &vcr2Request{
		Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, ContentLength: r.ContentLength,
		Trailer: headersOf(x.Request.Trailer), Host: text(r.Host),
	}
	major, minor, _ := http.ParseHTTPVersion(got.Proto)
	v.Response.V2 = &vcr2Response{
		Proto: got.Proto, ProtoMajor: major, ProtoMinor: minor, TransferEncoding: got.TransferEncoding(),
		Trailer: headersOf(got.Trailer), ContentLength: got.ContentLength(), Uncompressed: got.Uncompressed,
	}
	return v, nil
}

// sentOf returns the request of a Go client, with its form. go-vcr compares URLs in the
// form of such a client.
func sentOf(r *recording.Request) (*http.Request, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	out := &http.Request{
		Method: r.Method, URL: u, Host: u.Host, Proto: defaultProto, ProtoMajor: 1, ProtoMinor: 1,
		Header: r.Header.Clone(), Body: http.NoBody, ContentLength: int64(len(r.Body)),
	}
	if match.OtherHost(r) != "" {
		out.Host = r.Header.Get("Host")
	}
	if r.Header.Get("Transfer-Encoding") != "" {
		out.ContentLength = 0 // means unknown
	}
	out.Header.Del("Host")
	out.Header.Del("Transfer-Encoding")
	if len(r.Body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(r.Body))
	}
	_ = out.ParseForm() // other bodies have no form
	return out, nil
}
