package cassettes

import (
	"net/url"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// Percent-encoded text is redacted after decoding, and the placeholder is encoded the same
// number of times. S and a number are a secret and this number.
func TestRedactEncoded(t *testing.T) {
	q := url.QueryEscape
	const secret = "k1y2" // too short to be looked for elsewhere
	mark := redact.Placeholder(secret)
	marked := strings.NewReplacer("S0", mark, "S1", match.EscapedPlaceholder(mark), "S2", match.EscapedPlaceholder(match.EscapedPlaceholder(mark)), "S3", q(match.EscapedPlaceholder(match.EscapedPlaceholder(mark))), "S4", q(q(match.EscapedPlaceholder(match.EscapedPlaceholder(mark)))))
	plain := strings.NewReplacer("S0", secret, "S1", secret, "S2", secret, "S3", secret, "S4", secret)
	for _, in := range []string{
		"https://a.b/?u=" + q("https://x/?api_key=S2&a=1") + "&b=%20#c",
		"https://a.b/?u=" + q("https://x/?u="+q("https://y/?u="+q("https://z/?password=S4"))) + "&v=1",
		"https://a.b/?u=" + q(q(q(q("https://z/?password=k1y2")))),
		"https://a.b/?u=" + q("https://S2@x/1") + "&key=S1",
		"https://a.b/?state=" + q(`{"password":"S1","a":["1"],"secret":["S1"],`),
		"https://a.b/?state=" + q(`{"password":"S1"`),
		"https://a.b/" + q("https://x/#access_token=S2"),
		"https://a.b/p%20q?a%20=1&c%20d=" + q("/next?token=S2"),
		"https://a.b/?u=%zz%3fkey%3DS2",
		"https://a.b/?u=%3Fkey%3DS2%26a%3D%2",
		"https://a.b/?u=" + q("/?code=abcd&a="+q("/?code=abcd")),
		"https://a.b/?u=" + q("/?key="+mark+"&password=S2&a="+q("/?sig="+mark)),
		"https://a.b/?u=" + q("<password>S1</password>"),
	} {
		for _, x := range []*recording.Interaction{{Request: recording.Request{URL: plain.Replace(in)}}, {Request: recording.Request{Body: []byte("see (" + plain.Replace(in) + "), 1%20")}}} {
			once := (&Options{}).Redacted(x)
			got := once.Request.URL + strings.TrimSuffix(strings.TrimPrefix(string(once.Request.Body), "see ("), "), 1%20")
			if want := marked.Replace(in); got != want {
				t.Errorf("%s\nis %s\nwant %s", plain.Replace(in), got, want)
			}
			twice := (&Options{}).Redacted(once)
			if twice.Request.URL != once.Request.URL || string(twice.Request.Body) != string(once.Request.Body) {
				t.Errorf("%s\nredacted twice is %s%s", got, twice.Request.URL, twice.Request.Body)
			}
		}
	}
}

// A part of a secret value is not a secret of its own.
func TestEncodedValues(t *testing.T) {
	for _, before := range []string{"https://a.b/k1y2k3y4?key=", "https://a.b/k1y2k3y4%20?key="} {
		got := (&Options{}).Redacted(&recording.Interaction{Request: recording.Request{URL: before + "k1y2k3y4%26a"}}).Request.URL
		if want := before + match.EscapedPlaceholder(redact.Placeholder("k1y2k3y4&a")); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
