package recordings

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer"
)

// dialect is a protocol with its independent reader.
type dialect struct {
	protocol.Protocol
	read func(*testing.T, []any) said
}

// dialectOf returns the protocol of a recorded URL, and the path for its codec.
func dialectOf(t *testing.T, url string) (w dialect, path string) {
	t.Helper()
	p, path := importer.ProtocolOf(url)
	switch p := p.(type) {
	case chat.Protocol:
		p.LongIDs = !ofOpenAI(url)
		return dialect{p, readChat}, path
	case responses.Protocol:
		return dialect{p, readResponses}, path
	case gemini.GenerateContent:
		return dialect{p, readGemini}, path
	case anthropic.Messages:
		return dialect{p, readAnthropic}, path
	}
	t.Fatalf("no protocol has the URL %s", url)
	return dialect{}, ""
}

// ofOpenAI reports whether a URL belongs to OpenAI, and not to an OpenAI-compatible server.
func ofOpenAI(url string) bool {
	return strings.Contains(url, "//api.openai.com/") || strings.Contains(url, ".openai.azure.com/")
}

// TestAnswers sends each recorded request with an adapter that gets the recorded response, and compares
// the decoded response with the raw JSON.
func TestAnswers(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			got := counts{Exchanges: map[string]int{}}
			s.each(t, func(t *testing.T, x exchange) {
				w, path := dialectOf(t, x.url)
				req, err := w.DecodeRequest(path, x.request)
				if err != nil {
					t.Fatal(err)
				}
				want := w.read(t, documents(t, x))
				got.add(w.Name(), x, want)
				turn, err := answer(t, w, req, x)
				want.hold(t, turn, err)
			})
			t.Logf("%d cassettes, %+v", s.cassettes, got)
			if diff := gocmp.Diff(s.counts, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// answer sends a request with an adapter that gets a recorded response.
func answer(t *testing.T, p protocol.Protocol, req *llm.Request, x exchange) (*llm.Response, error) {
	t.Helper()
	client := &protocol.Client{Protocol: p, BaseURL: "http://recorded.example", HTTP: &http.Client{Transport: x}}
	return llm.Collect(client.Stream(t.Context(), req))
}

// RoundTrip returns the recorded response.
func (x exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {x.kind}},
		Body: io.NopCloser(bytes.NewReader(x.response)), Request: r,
	}, nil
}
