// Package replay compares cassettes with other recorders: a request of 2 KB, and a response of
// 4 KB of server-sent events.
package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	vcr2cassette "github.com/dnaeon/go-vcr/v2/cassette"
	vcr2 "github.com/dnaeon/go-vcr/v2/recorder"
	"google.golang.org/adk/v2/measured"
	vcr4 "gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/looptape/looptape/cassettes"
)

// tool records and replays.
type tool struct {
	name string
	// suffix is what it appends to the path of a cassette.
	suffix string
	open   func(path string, record bool) (to http.RoundTripper, end func() error, err error)
}

func tools() []tool {
	return []tool{{"looptape", "", looptape}, {"httprr", "", measured.Open}, {"vcr2", ".yaml", goVCR2}, {"vcr4", ".yaml", goVCR4}}
}

func looptape(path string, record bool) (http.RoundTripper, func() error, error) {
	o := &cassettes.Options{AllowUnused: true}
	if record {
		o.Mode = cassettes.Record
	}
	c, err := cassettes.Open(path, o)
	if err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

func goVCR2(path string, record bool) (http.RoundTripper, func() error, error) {
	mode := vcr2.ModeReplaying
	if record {
		mode = vcr2.ModeRecording
	}
	r, err := vcr2.NewAsMode(path, mode, http.DefaultTransport)
	if err != nil {
		return nil, nil, err
	}
	r.SkipRequestLatency = true
	r.SetMatcher(func(req *http.Request, was vcr2cassette.Request) bool { // its default ignores the body
		body, err := io.ReadAll(req.Body)
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		return err == nil && vcr2cassette.DefaultMatcher(req, was) && string(body) == was.Body
	})
	return r, r.Stop, nil
}

func goVCR4(path string, record bool) (http.RoundTripper, func() error, error) {
	mode := vcr4.ModeReplayOnly
	if record {
		mode = vcr4.ModeRecordOnly
	}
	r, err := vcr4.New(path, vcr4.WithMode(mode), vcr4.WithSkipRequestLatency(true))
	if err != nil {
		return nil, nil, err
	}
	return r, r.Stop, nil
}

// requestBody returns a body of 2 KB.
func requestBody(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"m","stream":true,"messages":[{"role":"system","content":"You are number %d."}`, n)
	for i := range 19 {
		fmt.Fprintf(&b, `,{"role":"user","content":"This is message %d, which continues for a while, as messages do, up to here."}`, i)
	}
	return b.String() + `]}`
}

// bodies returns bodies as requestBody does. A body is valid until the next call.
type bodies struct {
	text []byte
	head int    // length of text before the number
	tail string // the text after the number
}

func newBodies() *bodies {
	const number = 12345
	head, tail, _ := strings.Cut(requestBody(number), strconv.Itoa(number))
	return &bodies{text: []byte(head), head: len(head), tail: tail}
}

func (q *bodies) next(n int) []byte {
	q.text = append(strconv.AppendInt(q.text[:q.head], int64(n), 10), q.tail...)
	return q.text
}

// event returns an event of a response.
func event(i int) string {
	return fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d of the answer\"},\"finish_reason\":null}]}\n\n", i)
}

// server streams events with a pause between them.
func server(tb testing.TB, events int, pause time.Duration) string {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			if i > 0 && pause > 0 {
				time.Sleep(pause)
			}
			_, _ = io.WriteString(w, event(i)) // the client is in this process
			if pause > 0 {
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
	tb.Cleanup(s.Close)
	return s.URL + "/v1/chat/completions"
}

// send sends a request and reads the response. first is the time to the first byte.
func send(to http.RoundTripper, url string, body []byte) (size int, first time.Duration, err error) {
	from := time.Now()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := to.RoundTrip(req)
	if err != nil {
		return 0, 0, err
	}
	one := make([]byte, 1)
	if _, err = io.ReadFull(resp.Body, one); err != nil {
		return 0, 0, errors.Join(err, resp.Body.Close())
	}
	first = time.Since(from)
	rest, err := io.Copy(io.Discard, resp.Body)
	return int(rest) + 1, first, errors.Join(err, resp.Body.Close())
}

// recorded creates a cassette of n interactions.
func recorded(tb testing.TB, t tool, url string, n int) (path string, payload int) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "c")
	to, end, err := t.open(path, true)
	if err != nil {
		tb.Fatal(err)
	}
	q := newBodies()
	for i := range n {
		size, _, err := send(to, url, q.next(i))
		if err != nil {
			tb.Fatal(err)
		}
		payload += size + len(q.text)
	}
	if err := end(); err != nil {
		tb.Fatal(err)
	}
	return path, payload
}

// TestReplayOfRecorded replays what it has recorded, and logs the size of the file.
func TestReplayOfRecorded(t *testing.T) {
	for _, tool := range tools() {
		t.Run(tool.name, func(t *testing.T) {
			url := server(t, 27, 0)
			path, payload := recorded(t, tool, url, 20)
			info, err := os.Stat(path + tool.suffix)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("file / payload: %.3f", float64(info.Size())/float64(payload))
			to, end, err := tool.open(path, false)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for i := range 27 {
				want += len(event(i))
			}
			q := newBodies()
			for i := range 20 {
				if size, _, err := send(to, url, q.next(19-i)); err != nil || size != want {
					t.Errorf("response %d: got %d bytes, want %d: %v", i, size, want, err)
				}
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// sizes are the numbers of interactions of cassettes. The peers record 10,000 slowly.
var sizes = []int{10, 100, 1000, 10000}

// minOpen is the minimum number of interactions that are opened together. The timer stops for
// that, and the first replays after it are slow.
const minOpen = 1000

// BenchmarkReplay replays one interaction. The first one after opening a cassette is from its
// middle.
func BenchmarkReplay(b *testing.B) {
	each(b, func(b *testing.B, t tool, n int) {
		url := server(b, 27, 0)
		path, _ := recorded(b, t, url, n)
		open := make([]http.RoundTripper, max(minOpen/n, 1))
		ends := make([]func() error, len(open))
		q := newBodies()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%(n*len(open)) == 0 {
				b.StopTimer()
				for j := range open {
					if ends[j] != nil {
						if err := ends[j](); err != nil {
							b.Fatal(err)
						}
					}
					var err error
					if open[j], ends[j], err = t.open(path, false); err != nil {
						b.Fatal(err)
					}
				}
				runtime.GC() // otherwise a collection continues while the timer runs
				b.StartTimer()
			}
			if _, _, err := send(open[i/n%len(open)], url, q.next((i*7919+n/2)%n)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen opens a cassette.
func BenchmarkOpen(b *testing.B) {
	each(b, func(b *testing.B, t tool, n int) {
		path, payload := recorded(b, t, server(b, 27, 0), n)
		info, err := os.Stat(path + t.suffix)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := t.open(path, false); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/interaction")
		b.ReportMetric(float64(info.Size())/float64(payload), "file/payload")
		b.ReportMetric(float64(info.Size())/float64(n), "file-B/interaction")
	})
}

func each(b *testing.B, f func(b *testing.B, t tool, n int)) {
	for _, n := range sizes {
		for _, t := range tools() {
			b.Run(fmt.Sprintf("tool=%s/N=%d", t.name, n), func(b *testing.B) { f(b, t, n) })
		}
	}
}

// BenchmarkRecord records a stream of 100 events with a millisecond between them. The tool "none"
// is the network alone.
func BenchmarkRecord(b *testing.B) {
	for _, t := range append(tools(), tool{name: "none"}) {
		b.Run("tool="+t.name, func(b *testing.B) {
			url := server(b, 100, time.Millisecond)
			to := http.DefaultTransport
			if t.open != nil {
				var end func() error
				var err error
				if to, end, err = t.open(filepath.Join(b.TempDir(), "c"), true); err != nil {
					b.Fatal(err)
				}
				defer func() {
					if err := end(); err != nil {
						b.Error(err)
					}
				}()
			}
			q := newBodies()
			var waited time.Duration
			for i := 0; b.Loop(); i++ {
				_, first, err := send(to, url, q.next(i))
				if err != nil {
					b.Fatal(err)
				}
				waited += first
			}
			b.ReportMetric(float64(waited.Nanoseconds())/float64(b.N), "ns/first-byte")
		})
	}
}
