package redact

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes/recording"
)

// escapedHow are the encodings of a character.
func escapedHow(c rune, first bool) []string {
	ways := []string{string(c), escapedAll16(c), inPercent(string(c)), strings.ReplaceAll(inPercent(string(c)), "%", "%25")}
	if !first {
		ways = append(ways, `\\`+string(c))
		if i := strings.IndexRune("\n\r\t\b\f", c); i >= 0 {
			ways = append(ways, `\`+"nrtbf"[i:i+1])
		}
	}
	if c == ' ' {
		ways = append(ways, "+")
	}
	return ways
}

// escapedAll16 returns a character as a JSON escape.
func escapedAll16(c rune) string {
	if c >= 0x10000 {
		c -= 0x10000
		return fmt.Sprintf(`\u%04x\u%04X`, 0xd800+c>>10, 0xdc00+c&0x3ff)
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// The search finds a secret among others in every encoding, and nothing else.
func TestEchoesEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching("[ab%+ /\\n\"ä😀]{8,12}")
		var s secrets
		var all []string
		for range rapid.IntRange(1, 8).Draw(t, "secrets") {
			all = append(all, secret.Draw(t, "secret"))
			s.add(all[len(all)-1])
		}
		one := rapid.SampledFrom(all).Draw(t, "one")
		text, short := "", ""
		for i, c := range one {
			short = text
			text += rapid.SampledFrom(escapedHow(c, i == 0)).Draw(t, "way")
		}
		before := rapid.SampledFrom([]string{"", "_", `_\n`, "_%2", `_\u00`}).Draw(t, "before")
		spans := s.occurrences(before+text+"_", false)
		if replaced(before+text+"_", spans) != before+Placeholder(one)+"_" && len(all) == 1 {
			t.Fatalf("%q is found in %q at %v", one, before+text+"_", spans)
		}
		if left := replaced(before+text+"_", spans); strings.Contains(left, text) {
			t.Fatalf("%q is left of %q", left, before+text+"_")
		}
		if found := s.occurrences("_"+short+"_", false); len(all) == 1 && found != nil {
			t.Fatalf("%q is found in %q at %v", one, short, found)
		}
	})
}

// The time of the search grows with the number of occurrences, events and secrets.
func TestManyEchoes(t *testing.T) {
	const n = 20000
	cookies := make([]string, 1000)
	for i := range cookies {
		cookies[i] = fmt.Sprintf("c%d=v%08dxQz", i, i)
	}
	got := (&Rules{}).Redacted(&recording.Interaction{
		Request: recording.Request{Header: http.Header{"X-Api-Key": {"s3cretS3cret"}, "Cookie": {strings.Join(cookies, "; ")}}},
		Response: recording.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body:   []byte(strings.Repeat("data: {\"t\":\"s3cretS3cret\"}\n\n", n) + strings.Repeat(`data: a\\b%20+v0`+"\n\n", n) + "data: v00000007xQz\n\n"),
		},
	})
	want := strings.Repeat("data: {\"t\":\""+Placeholder("s3cretS3cret")+"\"}\n\n", n) + strings.Repeat(`data: a\\b%20+v0`+"\n\n", n) + "data: " + Placeholder("v00000007xQz") + "\n\n"
	if string(got.Response.Body) != want {
		t.Errorf("redacted:\n%s", cmp.Diff(want, string(got.Response.Body)))
	}
}

func inPercent(s string) string {
	out := ""
	for _, c := range []byte(s) {
		out += fmt.Sprintf("%%%02x", c)
	}
	return out
}
