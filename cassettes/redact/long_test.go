package redact

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
)

// A long secret is redacted at its own place; elsewhere only its first part is.
func TestLongSecret(t *testing.T) {
	for _, length := range []int{maxSearched, maxSearched + 1, 5 << 20} {
		secret := randomText(rand.New(rand.NewPCG(1, 2)), letters+digits, length)
		x := &recording.Interaction{Request: recording.Request{Body: []byte(`{"password":"` + secret + `","a":["is ` + secret + `"]}`)}}
		mark := Placeholder(secret)
		want := `{"password":"` + mark + `","a":["is ` + mark + secret[maxSearched:] + `"]}`
		if got := string((&Rules{}).Redacted(x).Request.Body); got != want {
			t.Errorf("of %d bytes: %.200s…, want %.200s…", length, got, want)
		}
	}
}

// A value within another value is a secret of its own unless it is long. So a long row of
// names does not need memory for each value up to the end.
func TestNamesInValues(t *testing.T) {
	const inner = "abcd1234efgh"
	long := inner + strings.Repeat("1", maxRandom-len(inner))
	for name, c := range map[string]struct {
		before, inner string
		found         bool
	}{
		"short":         {"user:secret=", inner, true},
		"short in long": {strings.Repeat("user1", 1000) + "secret=", inner, true},
		"longest":       {"user:secret=", long, true},
		"too long":      {"user:secret=", long + "1", false},
	} {
		out := (&Rules{}).Redacted(&recording.Interaction{Request: recording.Request{URL: "http://a.b/" + c.inner, Body: []byte("password=" + c.before + c.inner)}})
		if got, want := string(out.Request.Body), "password="+Placeholder(c.before+c.inner); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if found := !strings.Contains(out.Request.URL, inner); found != c.found {
			t.Errorf("%s: the inner one is found: %t, and the URL is %s", name, found, out.Request.URL)
		}
	}
	for _, name := range []string{"?key=1", "1password=", "user1secret:"} {
		text := strings.Repeat(name, 1000)
		size := 0
		for secret := range (&Rules{}).redact(&recording.Interaction{Request: recording.Request{Body: []byte(text)}}, false, &secrets{}, nil).found.known {
			size += len(secret)
		}
		if most := len(text) + maxRandom*maxRandom; size < len(text)/2 || size > most {
			t.Errorf("of %d bytes of %s, secrets of %d bytes are found, want %d at most", len(text), name, size, most)
		}
	}
}

// Long rows of names take constant time per byte.
func BenchmarkNamesInRows(b *testing.B) {
	for _, name := range []string{"password=", "password: ", "?code=1", `"password":[`, `"password":{`, `"password":["a`, "?u=%3Fkey%253D1 "} {
		for _, n := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", strings.TrimRight(name, "=: 1"), n), func(b *testing.B) {
				text := strings.Repeat(name, n)
				x := &recording.Interaction{Request: recording.Request{Body: []byte(text)}}
				for b.Loop() {
					_ = (&Rules{}).Redacted(x)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(text)), "ns/byte")
			})
		}
	}
}

func BenchmarkAuthorization(b *testing.B) {
	x := &recording.Interaction{Request: recording.Request{
		Method: "POST", URL: "https://api.example.com/v1/chat/completions",
		Header: http.Header{"Authorization": {"Bearer sk-test-Zm9vYmFyYmF6cXV4MTIzNDU2"}, "Content-Type": {"application/json"}},
		Body:   []byte(`{"model":"m","messages":[{"role":"user","content":"What is the weather in Oslo?"}]}`),
	}}
	b.ReportAllocs()
	for b.Loop() {
		_ = (&Rules{}).Redacted(x)
	}
}
