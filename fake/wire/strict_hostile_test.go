package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// hostile are malicious bodies, with the place for the conversation of a protocol.
func hostile(size int) map[string]string {
	nest := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	properties := nest(`{"type":"object","properties":{"a":`, `{"b":[`+strings.Repeat("0,", size/2)+`0]}`, `}}`, 60)
	anyTools := func(schema string) string {
		return `"tools":[{"name":"f","input_schema":` + schema + `,"parameters":` + schema + `,"function":{"name":"f","strict":true,"parameters":` + schema + `},"functionDeclarations":[{"name":"f","parameters":` + schema + `}]}]`
	}
	said := `"max_tokens":1,"input":[%],"messages":[%],"contents":[%]`
	of := func(item string) string { return strings.ReplaceAll(said, "%", item) }
	return map[string]string{
		"nothing":                "",
		"white space":            strings.Repeat(" ", size),
		"another value":          `[]`,
		"a number":               "1",
		"half an object":         `{"messages":[{"role":"user"`,
		"not UTF-8":              "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}",
		"lone surrogates":        `{"messages":[{"role":"user","content":"\ud83d"}],"input":"\udc00","contents":[{"parts":[{"text":"\ud83d"}]}]}`,
		"deep":                   nest(`{"a":`, "1", "}", 10000),
		"too deep":               nest("[", "", "]", 20000),
		"unended":                strings.Repeat("[", 20000),
		"deep content":           `{` + of(`{"role":"user","content":`+nest("[", "", "]", 9000)+`,"parts":`+nest("[", "", "]", 9000)+`}`) + `}`,
		"deep schemas":           `{` + of(`{"role":"user","content":"hi"}`) + `,` + anyTools(nest(`{"type":"object","properties":{"a":`, "{}", "}}", 4000)) + `}`,
		"deep and large schemas": `{` + of(`{"role":"user","content":"hi"}`) + `,` + anyTools(properties) + `}`,
		"the same name twice":    `{"model":"x","model":["y"],"messages":[],"messages":[{"role":"user","content":"hi","content":null}],"input":1,"input":"hi","max_tokens":0,"max_tokens":1}`,
		"many names":             `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`,
		"many items":             `{` + of(strings.TrimSuffix(strings.Repeat(`{},`, size/12), ",")) + `}`,
		"many calls":             `{` + of(`{"role":"assistant","tool_calls":[`+strings.TrimSuffix(strings.Repeat(`{},`, size/4), ",")+`]}`) + `}`,
		"many tools":             `{` + of(`{"role":"user","content":"hi"}`) + `,"tools":[` + strings.TrimSuffix(strings.Repeat(`{"name":"f"},`, size/13), ",") + `]}`,
		"other kinds":            `{"model":1,"messages":{"role":[]},"input":{"type":{}},"contents":"hi","tools":"f","tool_choice":0,"max_tokens":"1","store":[],"thinking":1,"generationConfig":[],"previous_response_id":{}}`,
		"other kinds below":      `{` + of(`1,"a",null,[[]],{"role":1,"type":[],"content":{"type":1},"parts":[1,"a",null,[]],"tool_calls":[1,{"function":"f","id":{}}],"id":[],"call_id":1}`) + `,"tools":[1,"a",null,[],{"type":1,"name":[],"function":[]}]}`,
		"a large text":           `{` + strings.Replace(of(`{"role":"user","content":"`+"%%"+`"}`), "%%", strings.Repeat("x", size/3), 3) + `}`,
	}
}

// The server responds to any body in the provider's form, with a response or an error.
func TestStrictSurvives(t *testing.T) {
	for name, body := range hostile(1 << 14) {
		for _, path := range []string{strictPaths["SO"], strictPaths["SR"], strictPaths["SA"], strictPaths["SG"], "/gemini/v1beta/models/gemini-3-pro:streamGenerateContent"} {
			s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
			w := post(t, s, path, body)
			if w.Code != http.StatusOK && (w.Code < 400 || w.Code > 404 || !strings.Contains(w.Body.String(), `"error":{`)) {
				t.Errorf("%s to %s: %d %.300s", name, path, w.Code, w.Body)
			}
			if report := s.Report(); len(report.RejectedRequests) != 1 && w.Code != http.StatusOK {
				t.Errorf("%s to %s: the report is %+v", name, path, report)
			}
		}
	}
}

// A body may have at most 64 MiB.
func TestStrictLength(t *testing.T) {
	t.Parallel()
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
	w := post(t, s, strictPaths["SO"], strings.Repeat(" ", 64<<20+1))
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "the body has more than 67108864 bytes") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A compressed body is rejected, without a violation.
func TestStrictEncodedBody(t *testing.T) {
	t.Parallel()
	for encoding, status := range map[string]int{"br": http.StatusUnsupportedMediaType, "gzip, br": http.StatusUnsupportedMediaType, "identity": http.StatusOK, "": http.StatusOK} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, strictPaths["SO"], strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		r.Header.Set("Authorization", "Bearer key")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", encoding)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if report := s.Report(); w.Code != status || len(report.Violations) > 0 || (len(report.RejectedRequests) == 0) != (status == http.StatusOK) {
			t.Errorf("%q: %d %s, report %+v", encoding, w.Code, w.Body, report)
		}
	}
}

// An interrupted body is rejected.
func TestStrictIncompleteBody(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, strictPaths["SO"], iotest.ErrReader(io.ErrUnexpectedEOF))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || len(s.Report().RejectedRequests) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
