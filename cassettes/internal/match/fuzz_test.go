package match

import (
	"bytes"
	"cmp"
	"net/http"
	"strings"
	"testing"

	cmpdiff "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/recording"
)

// bareKey returns the key of a request that ignores differences between secrets.
func bareKey(m Matcher, r *recording.Request) uint64 {
	k := m.key("", r)
	return cmp.Or(k.Bare, k.Exact)
}

// Requests with different keys have a reported difference. A request equals itself.
// FuzzMissError in package cassettes checks the text of the error.
func FuzzMatch(f *testing.F) {
	f.Add("application/json", []byte(`{"a":[1,{"b":"x"}],"id":1}`), []byte(`{"id":2,"a":[1,{"b":"y"},null]}`), "/id", "https://a.example/x?a=1", "http://b.example/?a=2&b")
	f.Add("application/x-www-form-urlencoded", []byte("a=1&b=%20"), []byte("b=+&a=2"), "?a", "/", "/#x")
	f.Add("application/json", []byte(`[1,2]`), []byte(`[1]`), "/1", "/", "/")
	f.Add("application/json", []byte(`[{"a":1,"b":2},1]`), []byte(`[1,{"a":1,"b":2}]`), "", "/", "/")
	f.Add("application/x-www-form-urlencoded", []byte("a&b=%&c=1;d"), []byte("a=&b=%25&c=1"), "?c", "http://a/%2f?x=100%", "http://A:80/%2F?x=50%")
	f.Add("application/json", []byte(`{"\\ud800":"\\udc00"}`), []byte(`{"\\udc00":"\\ud800\\ufffd"}`), "", "/", "/")
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\na"), []byte("--x\r\n\x00"), "", "%", ":")
	f.Fuzz(func(t *testing.T, kind string, a, b []byte, volatile, urlA, urlB string) {
		m := Matcher{Ignore: []string{volatile}}
		request := func(url string, body []byte) *recording.Interaction {
			return &recording.Interaction{Request: recording.Request{Method: "POST", URL: url, Header: http.Header{"Content-Type": {kind}}, Body: body}}
		}
		was, now := request(urlA, a), request(urlB, b)
		found := m.between(was, "", &now.Request)
		if len(found) == 0 && bareKey(m, &was.Request) != bareKey(m, &now.Request) {
			t.Fatalf("the keys are of different requests, and nothing differs:\n%s\n%s", m.text("", &was.Request), m.text("", &now.Request))
		}
		same := sentKey("", &was.Request) == sentKey("", &now.Request)
		if same != (urlA == urlB && bytes.Equal(a, b)) || same && m.key("", &was.Request) != m.key("", &now.Request) {
			t.Fatalf("the same byte by byte: %t", same)
		}
		one, other := m.content(&was.Request), m.content(&now.Request)
		if like := one.similarity(other); like != other.similarity(one) || !(like >= 0 && like <= 1) || one.similarity(one) != 1 {
			t.Fatalf("similarity %v and %v, with itself %v", like, other.similarity(one), one.similarity(one))
		}
		if message := found.message(one, other); strings.Contains(message, "\n") {
			t.Fatalf("the message has several lines: %s", message)
		}
		if diff := cmpdiff.Diff(differences(nil), m.between(was, "", &was.Request)); diff != "" {
			t.Fatalf("a request differs from itself:\n%s", diff)
		}
	})
}
