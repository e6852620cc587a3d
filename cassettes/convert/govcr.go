package convert

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
)

// An interaction of go-vcr v4, in the order of its pkg/cassette/cassette.go. The types of v2's
// package cassette describe format 1 and the rest of a response.
type (
	vcr2 struct {
		ID       int          `yaml:"id"`
		Request  vcr2Request  `yaml:"request"`
		Response vcr2Response `yaml:"response"`
	}
	vcr2Request struct {
		Proto         string      `yaml:"proto"`
		ProtoMajor    int         `yaml:"proto_major"`
		ProtoMinor    int         `yaml:"proto_minor"`
		ContentLength int64       `yaml:"content_length"`
		Trailer       http.Header `yaml:"trailer,omitempty"`
		Host          string      `yaml:"host"`
		Body          string      `yaml:"body,omitempty"`
		Form          url.Values  `yaml:"form,omitempty"`
		Headers       http.Header `yaml:"headers,omitempty"`
		URL           string      `yaml:"url"`
		Method        string      `yaml:"method"`
	}
	vcr2Response struct {
		Proto             string      `yaml:"proto"`
		ProtoMajor        int         `yaml:"proto_major"`
		ProtoMinor        int         `yaml:"proto_minor"`
		TransferEncoding  []string    `yaml:"transfer_encoding,omitempty"`
		Trailer           http.Header `yaml:"trailer,omitempty"`
		ContentLength     int64       `yaml:"content_length"`
		Uncompressed      bool        `yaml:"uncompressed,omitempty"`
		cassette.Response `yaml:",inline"`
	}
)

// readGoVCR1 reads an interaction of a [cassette.Cassette]. [cassette.Load] takes the path of an
// uncompressed file and returns no lines. A temporary file for it would contain secrets.
func readGoVCR1(n *yaml.Node) (*recording.Interaction, error) {
	v, err := decodeNode[cassette.Interaction](n)
	x := fromGoVCR(&v.Request, &v.Response)
	x.Request.Header.Del("Host") // Go clients do not send it
	x.Response.Chunked = lengthUnknown(&x.Response)
	return x, err
}

func fromGoVCR(sent *cassette.Request, got *cassette.Response) *recording.Interaction {
	return &recording.Interaction{
		Request: recording.Request{Method: sent.Method, URL: sent.URL, Header: canonicalHeader(sent.Headers), Body: []byte(sent.Body)},
		Response: recording.Response{
			Status: got.Code, Reason: strings.TrimPrefix(got.Status, strconv.Itoa(got.Code)),
			Header: canonicalHeader(got.Headers), Body: []byte(got.Body), Wait: got.Duration,
		},
	}
}

func readGoVCR2(n *yaml.Node) (*recording.Interaction, error) {
	v, err := decodeNode[vcr2](n)
	sent, got := &v.Request, &v.Response
	x := fromGoVCR(&cassette.Request{Body: sent.Body, Headers: sent.Headers, URL: sent.URL, Method: sent.Method}, &got.Response)
	x.Request.Trailer, x.Response.Trailer = trailer(sent.Trailer), trailer(got.Trailer)
	x.Response.Proto, x.Response.Uncompressed = got.Proto, got.Uncompressed
	x.Response.Chunked = got.ContentLength < 0
	x.Request.Header.Set("Host", sent.Host)
	if match.OtherHost(&x.Request) == "" {
		x.Request.Header.Del("Host")
	}
	if sent.ContentLength <= 0 && len(x.Request.Body) > 0 {
		x.Request.Header.Set("Transfer-Encoding", "chunked")
	}
	return x, err
}

// writeGoVCR1 writes a [cassette.Cassette]. [cassette.Cassette.Save] writes a file, which may contain
// secrets, and does not quote text that other YAML 1.1 readers decode as numbers or times.
func writeGoVCR1(_ recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	c := cassette.New("")
	for i, x := range list {
		r, err := sentOf(i, &x.Request)
		if err != nil {
			return nil, err
		}
		v := toGoVCR(x, r, r.PostForm)
		c.AddInteraction(&v)
	}
	return writeGoVCR(c)
}

// writeGoVCR2 adds what v4 compares: the protocol, length, host and form of a Go client.
func writeGoVCR2(_ recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	doc := document[vcr2]{Version: 2, Interactions: []vcr2{}}
	for i, x := range list {
		r, err := sentOf(i, &x.Request)
		if err != nil {
			return nil, err
		}
		v, got := toGoVCR(x, r, r.Form), &x.Response
		sent := v.Request
		major, minor, _ := http.ParseHTTPVersion(got.Proto)
		doc.Interactions = append(doc.Interactions, vcr2{
			ID: i,
			Request: vcr2Request{
				Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, ContentLength: r.ContentLength,
				Trailer: x.Request.Trailer, Host: r.Host, Body: sent.Body, Form: sent.Form, Headers: sent.Headers, URL: sent.URL, Method: sent.Method,
			},
			Response: vcr2Response{
				Proto: got.Proto, ProtoMajor: major, ProtoMinor: minor, TransferEncoding: got.TransferEncoding(),
				Trailer: got.Trailer, ContentLength: got.ContentLength(), Uncompressed: got.Uncompressed, Response: v.Response,
			},
		})
	}
	return writeGoVCR(doc)
}

func writeGoVCR(doc any) ([]byte, error) {
	out, err := writeYAML(doc, 4)
	return append([]byte("---\n"), out...), err
}

func toGoVCR(x *recording.Interaction, r *http.Request, form url.Values) cassette.Interaction {
	got := &x.Response
	return cassette.Interaction{
		Request: cassette.Request{
			Body: string(x.Request.Body), Form: form, Headers: filledHeader(r.Header), URL: r.URL.String(), Method: r.Method,
		},
		Response: cassette.Response{
			Body: string(got.Body), Headers: filledHeader(got.Header), Code: got.Status, Duration: got.Wait,
			Status: strings.TrimSpace(strconv.Itoa(got.Status) + " " + got.StatusText()),
		},
	}
}

// sentOf returns the request of interaction i as a Go client sends it, with its form. go-vcr
// compares URLs in the form of such a client.
func sentOf(i int, r *recording.Request) (*http.Request, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("interaction %d: %w", i+1, err)
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
