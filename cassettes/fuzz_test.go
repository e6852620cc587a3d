package cassettes

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	cmpdiff "github.com/google/go-cmp/cmp"
)

// shownFile is the cassette of the document.
func shownFile(t testing.TB) []byte {
	page, err := os.ReadFile("../docs/cassette-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```text\n")
	text, _, _ := strings.Cut(rest, "```\n")
	return []byte(text)
}

// A file is read or refused, by line; what can be sealed again is a cassette then, of
// which nothing is changed.
func FuzzParse(f *testing.F) {
	f.Add(shownFile(f))
	f.Add([]byte("looptape-cassette 1\n\n=== 1 GET x -> failed 1s\n>\n<! failed \"a\"\n--- > text 0 00000000 < text 0 00000000 pieces 0+0ms key 1\n\n=== end 1 interaction crc 00000000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("x", bytes.Clone(text))
		if err != nil {
			if at, ok := errors.AsType[*FormatError](err); !ok || at.Line < 0 || at.Line > bytes.Count(text, []byte("\n"))+2 {
				t.Fatalf("the error %v is of no line", err)
			}
		} else {
			readAll(t, file)
		}
		sealed, _, err := UpdateChecksums("x", bytes.Clone(text))
		if err != nil {
			return
		}
		file, err = Parse("x", sealed)
		if err != nil {
			t.Fatalf("sealed: %v\n%s", err, sealed)
		}
		readAll(t, file)
		again, changed, err := UpdateChecksums("x", sealed)
		if err != nil || changed != nil || !bytes.Equal(again, sealed) {
			t.Fatalf("sealed twice: %v, %q\n%s\n%s", err, changed, sealed, again)
		}
	})
}

// readAll reads what can be read; an answer is the same alone.
func readAll(t *testing.T, f *File) {
	t.Helper()
	for i := range f.Len() {
		x, err := f.Interaction(i)
		if err != nil {
			if _, ok := errors.AsType[*FormatError](err); !ok {
				t.Fatal(err)
			}
			continue
		}
		if r, err := answerOf(f, i); err != nil || cmpdiff.Diff(&x.Response, r, empty) != "" {
			t.Fatalf("alone it is %v, %v:\n%s", r, err, f.text)
		}
	}
}

// What is whole of a journal is read, and the rest is counted.
func FuzzJournal(f *testing.F) {
	head := appendFrame(nil, headText(Metadata{Match: "1"}))
	f.Add(append(bytes.Clone(head), "=== frame 0 00000000\n=== frame 9 12345678\n=== 1 GET"...))
	f.Add(appendFrame(head, []byte("=== 1 GET x -> failed 1s\n>\n<! failed\n--- > text 0 00000000 < text 0 00000000\n")))
	f.Add(appendFrame(nil, head))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := parseJournal("x", bytes.Clone(text))
		if err != nil {
			if at, ok := errors.AsType[*FormatError](err); !ok || at.File != "x" {
				t.Fatalf("the error %v is of no file", err)
			}
			return
		}
		if lost := file.Incomplete().(*IncompleteError).TrailingBytes; lost < 0 || lost > len(text) {
			t.Fatalf("%d bytes lost", lost)
		}
		readAll(t, file)
	})
}

// bareKey is the key of a request whose secrets do not count.
func bareKey(m matching, r *Request) uint64 {
	k := m.key("", r)
	return cmp.Or(k.bare, k.exact)
}

// Requests of two keys differ in something that is told, and one is its own nearest.
func FuzzMatch(f *testing.F) {
	f.Add("application/json", []byte(`{"a":[1,{"b":"x"}],"id":1}`), []byte(`{"id":2,"a":[1,{"b":"y"},null]}`), "/id", "https://a.example/x?a=1", "http://b.example/?a=2&b")
	f.Add("application/x-www-form-urlencoded", []byte("a=1&b=%20"), []byte("b=+&a=2"), "?a", "/", "/#x")
	f.Add("application/json", []byte(`[1,2]`), []byte(`[1]`), "/1", "/", "/")
	f.Add("application/json", []byte(`[{"a":1,"b":2},1]`), []byte(`[1,{"a":1,"b":2}]`), "", "/", "/")
	f.Add("application/x-www-form-urlencoded", []byte("a&b=%&c=1;d"), []byte("a=&b=%25&c=1"), "?c", "http://a/%2f?x=100%", "http://A:80/%2F?x=50%")
	f.Add("application/json", []byte(`{"\\ud800":"\\udc00"}`), []byte(`{"\\udc00":"\\ud800\\ufffd"}`), "", "/", "/")
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\na"), []byte("--x\r\n\x00"), "", "%", ":")
	f.Fuzz(func(t *testing.T, kind string, a, b []byte, volatile, urlA, urlB string) {
		m := matching{volatile: []string{volatile}}
		request := func(url string, body []byte) *Interaction {
			return &Interaction{Request: Request{Method: "POST", URL: url, Header: http.Header{"Content-Type": {kind}}, Body: body}}
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
		if like := one.like(other); like != other.like(one) || !(like >= 0 && like <= 1) || one.like(one) != 1 {
			t.Fatalf("alike by %v and %v, to itself %v", like, other.like(one), one.like(one))
		}
		miss := &MissError{NearestMatch: &NearestMatch{Differences: found, Message: found.message(one, other)}}
		if lines := strings.Count(miss.Error(), "\n"); lines > mostLines+10 {
			t.Fatalf("%d lines:\n%v", lines, miss)
		}
		if diff := cmpdiff.Diff(differences(nil), m.between(was, "", &was.Request)); diff != "" {
			t.Fatalf("a request differs from itself:\n%s", diff)
		}
	})
}
