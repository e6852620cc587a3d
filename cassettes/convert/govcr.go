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

// Names and order as in go-vcr v2, cassette/cassette.go.
type (
	vcr1 struct {
		Request  vcr1Request  `yaml:"request"`
		Response vcr1Response `yaml:"response"`
	}
	vcr1Request struct {
		Body    text    `yaml:"body"`
		Form    headers `yaml:"form"`
		Headers headers `yaml:"headers"`
		URL     text    `yaml:"url"`
		Method  text    `yaml:"method"`
	}
	vcr1Response struct {
		Body     text          `yaml:"body"`
		Headers  headers       `yaml:"headers"`
		Status   text          `yaml:"status"`
		Code     int           `yaml:"code"`
		Duration time.Duration `yaml:"duration"`
	}
)

// Names and order as in go-vcr v4, pkg/cassette/cassette.go.
type (
	vcr2 struct {
		ID       int          `yaml:"id"`
		Request  vcr2Request  `yaml:"request"`
		Response vcr2Response `yaml:"response"`
	}
	vcr2Request struct {
		Proto         string  `yaml:"proto"`
		ProtoMajor    int     `yaml:"proto_major"`
		ProtoMinor    int     `yaml:"proto_minor"`
		ContentLength int64   `yaml:"content_length"`
		Trailer       headers `yaml:"trailer,omitempty"`
		Host          text    `yaml:"host"`
		Body          text    `yaml:"body,omitempty"`
		Form          headers `yaml:"form,omitempty"`
		Headers       headers `yaml:"headers,omitempty"`
		URL           text    `yaml:"url"`
		Method        text    `yaml:"method"`
	}
	vcr2Response struct {
		Proto            string        `yaml:"proto"`
		ProtoMajor       int           `yaml:"proto_major"`
		ProtoMinor       int           `yaml:"proto_minor"`
		TransferEncoding []string      `yaml:"transfer_encoding,omitempty"`
		Trailer          headers       `yaml:"trailer,omitempty"`
		ContentLength    int64         `yaml:"content_length"`
		Uncompressed     bool          `yaml:"uncompressed,omitempty"`
		Body             text          `yaml:"body"`
		Headers          headers       `yaml:"headers"`
		Status           text          `yaml:"status"`
		Code             int           `yaml:"code"`
		Duration         time.Duration `yaml:"duration"`
	}
)

func readGoVCR1(n *yaml.Node) (*recording.Interaction, error) {
	v, err := decodeNode[vcr1](n)
	x := &recording.Interaction{
		Request: recording.Request{Method: string(v.Request.Method), URL: string(v.Request.URL), Header: v.Request.Headers.header(), Body: []byte(v.Request.Body)},
		Response: recording.Response{
			Status: v.Response.Code, Reason: reasonIn(v.Response.Status, v.Response.Code),
			Header: v.Response.Headers.header(), Body: []byte(v.Response.Body), Wait: v.Response.Duration,
		},
	}
	x.Request.Header.Del("Host") // Go clients do not send it
	x.Response.Chunked = lengthUnknown(&x.Response)
	return x, err
}

func readGoVCR2(n *yaml.Node) (*recording.Interaction, error) {
	v, err := decodeNode[vcr2](n)
	x := &recording.Interaction{
		Request: recording.Request{
			Method: string(v.Request.Method), URL: string(v.Request.URL), Header: v.Request.Headers.header(),
			Body: []byte(v.Request.Body), Trailer: v.Request.Trailer.trailer(),
		},
		Response: recording.Response{
			Status: v.Response.Code, Reason: reasonIn(v.Response.Status, v.Response.Code), Proto: v.Response.Proto,
			Header: v.Response.Headers.header(), Body: []byte(v.Response.Body), Trailer: v.Response.Trailer.trailer(),
			Chunked: v.Response.ContentLength < 0, Uncompressed: v.Response.Uncompressed, Wait: v.Response.Duration,
		},
	}
	x.Request.Header.Set("Host", string(v.Request.Host))
	if match.OtherHost(&x.Request) == "" {
		x.Request.Header.Del("Host")
	}
	if v.Request.ContentLength <= 0 && len(v.Request.Body) > 0 {
		x.Request.Header.Set("Transfer-Encoding", "chunked")
	}
	return x, err
}

func reasonIn(line text, code int) string {
	return strings.TrimPrefix(string(line), strconv.Itoa(code))
}

func writeGoVCR1(_ recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	doc := document[vcr1]{Version: 1, Interactions: []vcr1{}}
	for i, x := range list {
		r, err := sentOf(&x.Request)
		if err != nil {
			return nil, fmt.Errorf("interaction %d: %w", i+1, err)
		}
		doc.Interactions = append(doc.Interactions, vcr1{
			Request: vcr1Request{
				Body: text(x.Request.Body), Form: headersOf(http.Header(r.PostForm)), Headers: headersOf(r.Header),
				URL: text(r.URL.String()), Method: text(x.Request.Method),
			},
			Response: vcr1Response{
				Body: text(x.Response.Body), Headers: headersOf(x.Response.Header),
				Status: text(statusLine(&x.Response)), Code: x.Response.Status, Duration: x.Response.Wait,
			},
		})
	}
	return writeGoVCR(doc)
}

// writeGoVCR2 adds what v4 compares: the protocol, length, host and form of a Go client.
func writeGoVCR2(_ recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	doc := document[vcr2]{Version: 2, Interactions: []vcr2{}}
	for i, x := range list {
		r, err := sentOf(&x.Request)
		if err != nil {
			return nil, fmt.Errorf("interaction %d: %w", i+1, err)
		}
		v := vcr2{
			ID: i,
			Request: vcr2Request{
				Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, ContentLength: r.ContentLength,
				Trailer: headersOf(x.Request.Trailer), Host: text(r.Host), Body: text(x.Request.Body),
				Form: headersOf(http.Header(r.Form)), Headers: headersOf(r.Header),
				URL: text(r.URL.String()), Method: text(x.Request.Method),
			},
			Response: vcr2Response{
				Proto: x.Response.Proto, TransferEncoding: x.Response.TransferEncoding(), Trailer: headersOf(x.Response.Trailer),
				ContentLength: x.Response.ContentLength(), Uncompressed: x.Response.Uncompressed,
				Body: text(x.Response.Body), Headers: headersOf(x.Response.Header),
				Status: text(statusLine(&x.Response)), Code: x.Response.Status, Duration: x.Response.Wait,
			},
		}
		v.Response.ProtoMajor, v.Response.ProtoMinor, _ = http.ParseHTTPVersion(x.Response.Proto)
		doc.Interactions = append(doc.Interactions, v)
	}
	return writeGoVCR(doc)
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

func writeGoVCR(doc any) ([]byte, error) {
	out, err := writeYAML(doc, 4)
	return append([]byte("---\n"), out...), err
}
