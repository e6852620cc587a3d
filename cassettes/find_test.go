package cassettes

import (
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A request takes the recording that is the same as it stands, then those that are the
// same but for its secrets.
func TestFind(t *testing.T) {
	request := func(url, authorization, said string) Request {
		return Request{Method: "POST", URL: url, Header: http.Header{"Authorization": {authorization}, "Content-Type": {"application/json"}}, Body: []byte(`{"say":"` + said + `"}`)}
	}
	const page = "https://example.com/"
	o := &Options{AllowUnused: true}
	var list []*Interaction
	for _, r := range []Request{
		request(page, "Bearer s3cretS3cret", "s3cretS3cret"),
		request(page, "", "s3cretS3cret"),
		request(page+"?key=k1", "", "hello"),
	} {
		list = append(list, o.Redacted(&Interaction{Request: r, Response: Response{Status: 200, Proto: "HTTP/1.1"}}))
	}
	for _, c := range []struct {
		name string
		opts Options
		want []int
	}{
		{"default", Options{}, []int{1, 0, 2, -1}},
		{"with a redactor", Options{Redact: []Redactor{RedactorFunc(func(*Interaction) {})}}, []int{0, -1, 2, -1}},
		{"with a matcher", Options{Match: func(r *Request) string { return string(r.Body) }}, []int{0, -1, 2, -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.tape")
			if err := Write(path, Head{}, o, list); err != nil {
				t.Fatal(err)
			}
			play, err := Open(path, &c.opts)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, r := range []Request{
				request(page, "Bearer s3cretS3cret", "s3cretS3cret"),
				request(page, "Bearer s3cretS3cret", "s3cretS3cret"),
				request(page+"?key=k2", "Bearer s3cretS3cret", "hello"),
				request(page, "", "hello"),
			} {
				i, err := play.find("", r)
				if _, ok := errors.AsType[*MissError](err); ok {
					i = -1
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, i)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("interactions (-want +got):\n%s", diff)
			}
		})
	}
}
