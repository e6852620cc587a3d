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

// dialect is a protocol with the reader that knows it without the codec.
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

// ofOpenAI reports whether it is OpenAI's own servers that answer at a URL, and not an
// imitator's.
func ofOpenAI(url string) bool {
	return strings.Contains(url, "//api.openai.com/") || strings.Contains(url, ".openai.azure.com/")
}

// TestAnswers asks each recorded question again, by an adapter that gets the
// recorded answer, and holds the turn to what the raw JSON says.
func TestAnswers(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			got := figures{Exchanges: map[string]int{}}
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
			if diff := gocmp.Diff(s.figures, got); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

// answer asks a question by an adapter that gets a recorded answer.
func answer(t *testing.T, p protocol.Protocol, req *llm.Request, x exchange) (*llm.Response, error) {
	t.Helper()
	client := &protocol.Client{Protocol: p, BaseURL: "http://recorded.example", HTTP: &http.Client{Transport: x}}
	return llm.Collect(client.Stream(t.Context(), req))
}

// RoundTrip gives the recorded response.
func (x exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {x.kind}},
		Body: io.NopCloser(bytes.NewReader(x.response)), Request: r,
	}, nil
}
