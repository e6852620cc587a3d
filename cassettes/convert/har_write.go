package convert

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/recording"
)

func writeHAR(h recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	name, version, _ := strings.Cut(h.Recorder, " ")
	log := harLog{Version: "1.2", Creator: harCreator{name, version}, Entries: []harEntry{}}
	for _, x := range list {
		log.Entries = append(log.Entries, harEntryOf(x, h.Recorded))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(map[string]harLog{"log": log})
	return out.Bytes(), err
}

func harEntryOf(x *recording.Interaction, recorded time.Time) harEntry {
	var receive time.Duration
	for _, p := range x.Response.Chunks {
		receive += p.After
	}
	e := harEntry{
		Started: recorded.UTC().Format(time.RFC3339),
		Time:    milliseconds(x.Response.Wait + receive),
		Request: harRequest{
			Method: x.Request.Method, URL: x.Request.URL, Proto: defaultProto, Headers: harFields(x.Request.Header),
			Cookies: []struct{}{}, Query: harQuery(x.Request.URL), HeadersSize: -1, BodySize: float64(len(x.Request.Body)),
		},
		Response: harResponse{
			Status: x.Response.Status, Reason: x.Response.StatusText(), Proto: x.Response.Proto, Headers: harFields(x.Response.Header),
			Cookies: []struct{}{}, Redirect: x.Response.Header.Get("Location"), HeadersSize: -1, BodySize: float64(len(x.Response.Body)),
			Content: harContent{float64(len(x.Response.Body)), harBodyOf(x.Response.Header, x.Response.Body)}, Failure: x.Response.Failure,
		},
		Timings: harTimings{Wait: milliseconds(x.Response.Wait), Receive: milliseconds(receive)},
	}
	if x.Response.Uncompressed {
		e.Response.BodySize = -1
	}
	if len(x.Request.Body) > 0 {
		body := harBodyOf(x.Request.Header, x.Request.Body)
		e.Request.PostData = &body
	}
	return e
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func harBodyOf(h http.Header, body []byte) harBody {
	s := string(body)
	c := harBody{Type: h.Get("Content-Type"), Text: &s}
	if !utf8.Valid(body) {
		s = base64.StdEncoding.EncodeToString(body)
		c.Encoding = "base64"
	}
	return c
}

func harFields(h http.Header) []harField {
	out := []harField{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out = append(out, harField{name, values{text(v)}})
		}
	}
	return out
}

func harQuery(text string) []harField {
	u, err := url.Parse(text)
	if err != nil {
		return []harField{}
	}
	return harFields(http.Header(u.Query()))
}
