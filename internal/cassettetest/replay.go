package cassettetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing/iotest"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"github.com/dnaeon/go-vcr/v2/recorder"
	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/providers/protocol"
)

// Transport is a way to replay a recording.
type Transport string

// Transports.
const (
	Cassette Transport = "cassette"     // of looptape
	Bytes    Transport = "byte by byte" // the same, one byte at a time
	GoVCR    Transport = "go-vcr"       // the recorder of go-vcr v2, with the converted cassette
)

// Replay runs the scenario of the recording with a client of its protocol. It returns an error if the
// script is invalid, if the run has a deadlock, or if the run did not use all recorded responses.
func (r *Recording) Replay(ctx context.Context, by Transport) (*scenario.Result, error) {
	d, err := r.dialect()
	if err != nil {
		return nil, err
	}
	to, done, err := r.open(by, d)
	if err != nil {
		return nil, err
	}
	o, err := r.run(ctx, &protocol.Client{
		Protocol: d.Protocol, BaseURL: wire.ServerInfo{URL: server}.BaseURL(d.provider, "") + d.version, HTTP: &http.Client{Transport: to},
	})
	return o, errors.Join(err, done())
}

// open returns a transport that replays, and a function that reports unused responses.
func (r *Recording) open(by Transport, d *dialect) (to http.RoundTripper, done func() error, err error) {
	f, err := cassettes.ReadFile(r.Path())
	if err != nil {
		return nil, nil, err
	}
	var list []*recording.Interaction
	for x, err := range f.All() {
		if err != nil {
			return nil, nil, err
		}
		list = append(list, x)
	}
	if by == GoVCR {
		to, done, err = r.openGoVCR(f.Metadata, list, d)
	} else {
		to, done, err = r.openCassette(f, d)
	}
	if err != nil {
		return nil, nil, err
	}
	if by == Bytes {
		to = oneByte{to}
	}
	if r.Client != Looptape {
		u, err := url.Parse(list[0].Request.URL)
		return redirect{to, u}, done, err
	}
	return to, done, nil
}

// openCassette replays the cassette. Requests of other clients are compared by their meaning.
func (r *Recording) openCassette(f *cassettes.File, d *dialect) (http.RoundTripper, func() error, error) {
	var opts cassettes.Options
	if r.Client != Looptape {
		opts.Match = func(sent *recording.Request) string { return d.meaning(sent.Body) }
	}
	tape, err := f.Replay(&opts)
	if err != nil {
		return nil, nil, err
	}
	return tape, tape.Close, nil
}

// redirect sends all requests to the URL of a recording: clients use other versions of the API.
type redirect struct {
	http.RoundTripper
	to *url.URL
}

func (t redirect) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL = t.to
	return t.RoundTripper.RoundTrip(r)
}

// oneByte is a transport whose responses arrive one byte at a time.
type oneByte struct{ http.RoundTripper }

func (t oneByte) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{iotest.OneByteReader(resp.Body), resp.Body}
	}
	return resp, err
}

// openGoVCR converts the cassette to the format of go-vcr v2, which that module's recorder replays.
func (r *Recording) openGoVCR(h recording.Metadata, list []*recording.Interaction, d *dialect) (http.RoundTripper, func() error, error) {
	text, _, err := convert.Write(convert.GoVCR1, h, list)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the recorder has read the file
	name := filepath.Join(dir, "cassette")
	if err := os.WriteFile(name+".yaml", text, 0o600); err != nil {
		return nil, nil, err
	}
	rec, err := recorder.NewAsMode(name, recorder.ModeReplaying, nil)
	if err != nil {
		return nil, nil, err
	}
	rec.SkipRequestLatency = true
	used := 0
	rec.SetMatcher(func(now *http.Request, was cassette.Request) bool {
		body, err := io.ReadAll(now.Body)
		now.Body = io.NopCloser(bytes.NewReader(body))
		same := string(body) == was.Body || r.Client != Looptape && d.meaning(body) == d.meaning([]byte(was.Body))
		if err != nil || !same || !cassette.DefaultMatcher(now, was) {
			return false
		}
		used++ // the recorder uses the first interaction that matches
		return true
	})
	return rec, func() error {
		if used < len(list) {
			return fmt.Errorf("%s: %d of %d recorded responses were used", r.Path(), used, len(list))
		}
		return nil
	}, nil
}

// meaning returns the messages of a request without what clients represent differently. An invalid
// request has its body as its meaning.
func (d *dialect) meaning(body []byte) string {
	req, err := d.DecodeRequest(d.path, body)
	if err != nil {
		return string(body)
	}
	var text strings.Builder
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			fmt.Fprintf(&text, "%s %s\n", m.Role, partMeaning(p))
		}
	}
	return text.String()
}

// partMeaning omits annotations, item ids of calls, which a client need not send, and names in results.
// A text with an item id is equal to a reference to that item.
func partMeaning(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return "text " + cmp.Or(gjson.GetBytes(p.Opaque, "id").String(), p.Text)
	case llm.Unknown:
		return "text " + gjson.GetBytes(p.Raw, "id").String()
	case llm.ToolCall:
		return fmt.Sprintf("call %s %s %s %s", p.ID, p.Name, jsonval.Canonical(p.Arguments), gjson.GetBytes(p.Opaque, "thoughtSignature"))
	case llm.ToolResult:
		content := p.Text() // Gemini's results are objects, and clients choose their members
		return fmt.Sprintf("result %s %t %s", p.ID, p.IsError, cmp.Or(gjson.Get(content, "content").String(), content))
	default:
		return fmt.Sprintf("%T %+v", p, p)
	}
}
