package cassettetest

import (
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/fake/wire"
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
	if by == GoVCR {
		return r.openGoVCR(f, d)
	}
	var opts cassettes.Options
	if r.Client != Looptape {
		opts.Match = func(sent *recording.Request) string { return d.meaning(sent.URL, sent.Body) }
	}
	tape, err := f.Replay(&opts)
	if err != nil {
		return nil, nil, err
	}
	if by == Bytes {
		return oneByte{tape}, tape.Close, nil
	}
	return tape, tape.Close, nil
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
func (r *Recording) openGoVCR(f *cassettes.File, d *dialect) (to http.RoundTripper, done func() error, err error) {
	var list []*recording.Interaction
	for x, err := range f.All() {
		if err != nil {
			return nil, nil, err
		}
		list = append(list, x)
	}
	text, _, err := convert.Write(convert.GoVCR1, f.Metadata, list)
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
		same := string(body) == was.Body || r.Client != Looptape && d.meaning(was.URL, body) == d.meaning(was.URL, []byte(was.Body))
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

// meaning returns what a request asks of a model, without the settings and the forms that differ
// between clients. An invalid request has its body as its meaning.
func (d *dialect) meaning(to string, body []byte) string {
	u, err := url.Parse(to)
	if err != nil {
		return string(body)
	}
	base, _ := url.Parse(wire.ServerInfo{URL: server}.BaseURL(d.provider, "") + d.version)
	req, err := d.DecodeRequest(strings.TrimPrefix(u.Path, base.Path), body)
	if err != nil {
		return string(body)
	}
	text, err := json.Marshal([]any{req.Model, req.ResponseMode, comparable(req.Messages)})
	if err != nil {
		return string(body)
	}
	return string(text)
}

// comparable returns messages without what clients represent differently.
func comparable(messages []llm.Message) []llm.Message { return messages }
