package cassettes

import (
	"net/http"
	"testing"
)

// What two requests differ in that come to one key, or to two.
func TestKeys(t *testing.T) {
	req := func(kind, url, body string) *Request {
		return &Request{Method: "POST", URL: url, Header: http.Header{"Content-Type": {kind}}, Body: []byte(body)}
	}
	const json, form, page = "application/json", "application/x-www-form-urlencoded", "https://example.com/a"
	for name, c := range map[string]struct {
		a, b     *Request
		volatile []string
		same     bool
	}{
		"order of members":      {req(json, page, `{"a":1,"b":{"c":[1,2],"d":"x"}}`), req(json, page, "{ \"b\": {\"d\":\"\\u0078\", \"c\":[1, 2]},\n\"a\":1 }"), nil, true},
		"order of elements":     {req(json, page, `[1,2]`), req(json, page, `[2,1]`), nil, false},
		"numbers":               {req(json, page, `[1]`), req(json, page, `[1.0]`), nil, false},
		"number and text":       {req(json, page, `[1]`), req(json, page, `["1"]`), nil, false},
		"nesting":               {req(json, page, `[[1],2]`), req(json, page, `[[1,2]]`), nil, false},
		"empty":                 {req(json, page, `{}`), req(json, page, `[]`), nil, false},
		"a changed prompt":      {req(json, page, `{"messages":[{"content":"a"}]}`), req(json, page, `{"messages":[{"content":"b"}]}`), nil, false},
		"a volatile member":     {req(json, page, `{"a":{"id":1,"x":2}}`), req(json, page, `{"a":{"id":3,"x":2}}`), []string{"/a/id"}, true},
		"beside a volatile one": {req(json, page, `{"a":{"id":1,"x":2}}`), req(json, page, `{"a":{"id":1,"x":3}}`), []string{"/a/id"}, false},
		"volatile, any element": {req(json, page, `{"a":[{"id":1},{"id":2}]}`), req(json, page, `{"a":[{"id":3},{}]}`), []string{"/a/*/id"}, true},
		"volatile, one element": {req(json, page, `{"a":[{"id":1},{"id":2}]}`), req(json, page, `{"a":[{"id":1},{"id":3}]}`), []string{"/a/0/id"}, false},
		"volatile above":        {req(json, page, `{"a":{"b":1}}`), req(json, page, `{"a":{"b":2}}`), []string{"/a"}, true},
		"volatile below":        {req(json, page, `{"a":1}`), req(json, page, `{"a":2}`), []string{"/a/b"}, false},
		"volatile, escaped":     {req(json, page, `{"a/b~":1}`), req(json, page, `{"a/b~":2}`), []string{"/a~1b~0"}, true},
		"volatile, no pointer":  {req(json, page, `{"a":1}`), req(json, page, `{"a":2}`), []string{"a"}, false},
		"order of the query":    {req(json, page+"?a=1&b=2", ``), req(json, page+"?b=2&a=1", ``), nil, true},
		"the query":             {req(json, page+"?a=1", ``), req(json, page+"?a=2", ``), nil, false},
		"a volatile query":      {req(json, page+"?a=1&b=2", ``), req(json, page+"?a=3&b=2", ``), []string{"?a"}, true},
		"a fragment":            {req(json, page+"#a", ``), req(json, page, ``), nil, true},
		"a redacted query":      {req(json, page+"?key=[redacted+%23aaaa+9+chars]", ``), req(json, page+"?key=[redacted+%23bbbb+7+chars]", ``), nil, true},
		"a redacted member":     {req(json, page, `{"k":"[redacted #aaaa 9 chars]"}`), req(json, page, `{"k":"[redacted #bbbb 7 chars]"}`), nil, true},
		"a form":                {req(form, page, `a=1&b=2`), req(form, page, `b=2&a=1`), nil, true},
		"another form":          {req(form, page, `a=1&b=2`), req(form, page, `b=2&a=3`), nil, false},
		"a volatile field":      {req(form, page, `a=1&b=2`), req(form, page, `b=2&a=3`), []string{"?a"}, true},
		"text":                  {req("text/plain", page, `a b`), req("text/plain", page, `a  b`), nil, false},
		"boundaries":            {req("multipart/form-data; boundary=xx", page, "--xx\r\na\r\n--xx--"), req("multipart/form-data; boundary=yyy", page, "--yyy\r\na\r\n--yyy--"), nil, true},
		"parts":                 {req("multipart/form-data; boundary=xx", page, "--xx\r\na\r\n--xx--"), req("multipart/form-data; boundary=yyy", page, "--yyy\r\nb\r\n--yyy--"), nil, false},
		"paths":                 {req(json, page, ``), req(json, page+"b", ``), nil, false},
		"hosts":                 {req(json, page, ``), req(json, "https://example.org/a", ``), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := matching{volatile: c.volatile}
			if got := m.key("", c.a) == m.key("", c.b); got != c.same {
				t.Errorf("the same: %t, want %t\n%s\n%s", got, c.same, m.text("", c.a), m.text("", c.b))
			}
		})
	}
	a := req(json, page, `{}`)
	get := req(json, page, `{}`)
	get.Method = "GET"
	m := matching{}
	if m.key("", a) == m.key("b", a) || m.key("", a) == m.key("", get) {
		t.Error("lane or method do not count")
	}
	m.own = func(r *Request) string { return "any body" }
	if m.key("", a) != m.key("", req(json, page, "other")) || m.key("", a) == m.key("", req(json, page+"b", "")) || m.name() != "" {
		t.Error("an own matcher stands in place of the body")
	}
	if (matching{volatile: []string{"b", "a"}}).name() != "1 a b" {
		t.Error("a matching is known by its fields")
	}
}
