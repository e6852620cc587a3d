package cassettes_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// requests is the number of similar concurrent requests; the flag -requests sets it.
var requests = flag.Int("requests", 4000, "how many similar requests are replayed in parallel")

// Each of many similar concurrent requests gets its own response: that of its session, and of
// equal requests each response once.
func TestSimilarRequestsInParallel(t *testing.T) {
	const sessions, same, clients = 4, 2, 4
	body := func(n int) string { return chat("", "The same question again, of number", "I look.", fmt.Sprint(n)) }
	session := func(n int) string { return fmt.Sprint("agent-", n%sessions) }
	list := make([]*recording.Interaction, *requests)
	for n := range list {
		x := &recording.Interaction{Session: session(n), Request: question{body: body(n / sessions / same)}.request()}
		x.Response = recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{}, Body: fmt.Append(nil, n)}
		list[n] = x
	}
	path := filepath.Join(t.TempDir(), "p.tape")
	if err := cassettes.Replace(path, cassettes.Encode(recording.Metadata{}, nil, list)); err != nil {
		t.Fatal(err)
	}
	play := open(t, path, cassettes.Options{})
	got := make([]atomic.Int32, len(list))
	var wrong atomic.Int32
	var all sync.WaitGroup
	for client := range sessions * clients {
		all.Go(func() {
			for n := client; n < len(list); n += sessions * clients {
				answer, err := answerTo(t, play, session(n), body(n/sessions/same))
				var was int
				_, scanned := fmt.Sscan(answer, &was)
				if err != nil || scanned != nil || session(was) != session(n) || was/sessions/same != n/sessions/same {
					wrong.Add(1)
					t.Errorf("request %d got the response %q: %v", n, answer, err)
					return
				}
				got[was].Add(1)
			}
		})
	}
	all.Wait()
	for n := range got {
		if times := got[n].Load(); times != 1 {
			wrong.Add(1)
			t.Errorf("response %d was sent %d times", n, times)
		}
	}
	t.Logf("%d wrong responses to %d requests", wrong.Load(), len(list))
	if err := play.Close(); err != nil {
		t.Error(err)
	}
}

// answerTo returns the body of the response to a request of a session.
func answerTo(t *testing.T, to http.RoundTripper, session, body string) (string, error) {
	req, err := http.NewRequestWithContext(t.Context(), "POST", api, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set(cassettes.SessionHeader, session)
	resp, err := to.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // it is read
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
