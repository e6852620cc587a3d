package cassettes

import (
	"net/http"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
)

// The text of a MissError has a limited number of lines, whatever differs. The seeds are
// those of FuzzMatch in package match.
func FuzzMissError(f *testing.F) {
	f.Add("application/json", []byte(`{"a":[1,{"b":"x"}],"id":1}`), []byte(`{"id":2,"a":[1,{"b":"y"},null]}`), "/id", "https://a.example/x?a=1", "http://b.example/?a=2&b")
	f.Add("application/x-www-form-urlencoded", []byte("a=1&b=%20"), []byte("b=+&a=2"), "?a", "/", "/#x")
	f.Add("application/json", []byte(`[1,2]`), []byte(`[1]`), "/1", "/", "/")
	f.Add("application/json", []byte(`[{"a":1,"b":2},1]`), []byte(`[1,{"a":1,"b":2}]`), "", "/", "/")
	f.Add("application/json", []byte(`{"messages":[{"role":"user"},1,2,3,4,5,6,7,8,9,10,11,12]}`), []byte(`{"messages":[0,0,0,0,0,0,0,0,0,0,0,0]}`), "", "/", "/")
	f.Add("application/x-www-form-urlencoded", []byte("a&b=%&c=1;d"), []byte("a=&b=%25&c=1"), "?c", "http://a/%2f?x=100%", "http://A:80/%2F?x=50%")
	f.Add("text/plain", []byte(strings.Repeat("a\n", 100)), []byte(strings.Repeat("b\n", 100)), "", "/", "/")
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\na"), []byte("--x\r\n\x00"), "", "%", ":")
	f.Fuzz(func(t *testing.T, kind string, a, b []byte, ignored, urlA, urlB string) {
		request := func(url string, body []byte) recording.Request {
			return recording.Request{Method: "POST", URL: url, Header: http.Header{"Content-Type": {kind}}, Body: body}
		}
		opts := &Options{Ignore: []string{ignored}}
		recorded := &recording.Interaction{Request: request(urlA, a), Response: recording.Response{Status: 200, Proto: "HTTP/1.1"}}
		file, err := Parse("x.tape", Encode(recording.Metadata{}, opts, []*recording.Interaction{recorded}))
		if err != nil {
			t.Fatal(err)
		}
		c, err := file.Replay(opts)
		if err != nil {
			t.Fatal(err)
		}
		miss := c.miss("", request(urlB, b))
		if miss.NearestMatch == nil {
			t.Fatal("no nearest match in a cassette with one interaction")
		}
		if lines := strings.Count(miss.Error(), "\n"); lines > maxLines+10 {
			t.Fatalf("%d lines, want at most %d:\n%v", lines, maxLines+10, miss)
		}
	})
}
