package cassettes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// recordedAs returns an exchange as a recorder without redaction writes it.
func (x exchange) recordedAs() *recording.Interaction {
	out := &recording.Interaction{
		Request:  recording.Request{Method: "POST", URL: x.url, Header: headerOf(x.header), Body: []byte(x.body)},
		Response: recording.Response{Status: x.status, Proto: "HTTP/1.1", Header: headerOf(x.gotHeader), Body: []byte(x.gotBody)},
	}
	if x.failure != nil {
		out.Response = recording.Response{Termination: recording.Failed, Failure: x.failure.Error()}
	}
	return out
}

// Scrubbed removes planted secrets, returns their places without the secrets, and finds
// nothing the second time.
func TestScrubbed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, p := range plants {
		secret := planted(rnd)
		t.Run(p.name, func(t *testing.T) { scrubs(t, p.with(secret).recordedAs(), secret) })
	}
}

// Scrubbed also removes keys of a known form without a secret name.
func TestScrubbedForms(t *testing.T) {
	key := "sk-" + randomWord(rand.New(rand.NewPCG(5, 6)), 40)
	private := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(key[3:]+"\n", 3) + "-----END RSA PRIVATE KEY-----"
	events := deltas("data: {\"a\":\"TEXT\"}\n\n", "the key "+key+" it is", 9)
	for name, c := range map[string]struct {
		x      exchange
		secret string
		places []string
	}{
		"text":         {exchange{body: "it is " + key}, key, []string{"request, body"}},
		"JSON":         {exchange{gotHeader: jsonType, gotBody: `{"a":"it is ` + key + `","` + key + `":1}`}, key, []string{"response, body /a", "response, name"}},
		"below a name": {exchange{gotHeader: jsonType, gotBody: `{"` + key + `":{"password":"a"}}`}, key, []string{"response, name", "response, body /" + redact.Placeholder(key) + "/password"}},
		"signature":    {exchange{gotHeader: jsonType, gotBody: `{"signature":"` + key + `"}`}, key, []string{"response, body /signature"}},
		"again":        {exchange{body: "it is " + key, gotBody: inBytes("x" + key)}, key, []string{"request, body", "response, body"}},
		"query":        {exchange{url: endpoint + "?x=" + key}, key, []string{"request, URL"}},
		"events": {exchange{gotHeader: eventsType, gotBody: events}, key, []string{
			"response, event 1 /a", "response, event 2 /a", "response, event 3 /a", "response, event 4 /a", "response, event 5 /a", "response, event 6 /a",
		}},
		"private key": {exchange{gotHeader: jsonType, gotBody: `{"a":"` + inJSON(private) + `"}`}, key[3:], []string{"response, body /a"}},
		"truncated":   {exchange{gotBody: "-----BEGIN PRIVATE KEY-----\n" + key[3:]}, key[3:], []string{"response, body"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := plant{name, func(string) exchange { return c.x }}
			var got []string
			for _, s := range scrubs(t, p.with("").recordedAs(), c.secret) {
				got = append(got, s.Part+", "+s.Place)
			}
			if diff := cmp.Diff(c.places, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

// Scrubbed keeps a random word without a secret name, and one within opaque data: it may not
// be a secret.
func TestScrubbedKeeps(t *testing.T) {
	word := randomWord(rand.New(rand.NewPCG(7, 7)), 40)
	x := exchange{url: endpoint, header: jsonType, body: `{"a":"` + word + `","signature":"x+sk-` + word + `"}`}.recordedAs()
	clean, taken := (&Options{}).Scrubbed(x)
	if diff := cmp.Diff(x, clean, empty); diff != "" || taken != nil {
		t.Errorf("redacted: %v (-want +got):\n%s", taken, diff)
	}
}

// ScrubbedMetadata removes secrets and changes nothing else.
func TestScrubbedMetadata(t *testing.T) {
	key := "sk-" + randomWord(rand.New(rand.NewPCG(5, 6)), 40)
	var o Options
	was := recording.Metadata{Match: "1", Recorder: "me " + key, Upstreams: map[string]string{"a": "https://a.example/v1?api-key=abc&v=1", "b": "https://u:pw123456@b.example", "c": "http://c.example"}}
	clean, taken := o.ScrubbedMetadata(was)
	want := recording.Metadata{Match: "1", Recorder: "me " + redact.Placeholder(key), Upstreams: map[string]string{
		"a": "https://a.example/v1?api-key=" + match.EscapedPlaceholder(redact.Placeholder("abc")) + "&v=1", "b": "https://" + match.EscapedPlaceholder(redact.Placeholder("u:pw123456")) + "@b.example", "c": "http://c.example",
	}}
	if diff := cmp.Diff(want, clean); diff != "" {
		t.Errorf("the head (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("[head, by: a secret head, URL a: a secret head, URL b: a secret]", fmt.Sprint(taken)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if was.Upstreams["a"] == clean.Upstreams["a"] {
		t.Error("the head that was given changed")
	}
	if again, more := o.ScrubbedMetadata(clean); more != nil || !cmp.Equal(again, clean) {
		t.Errorf("the second scrub redacted %v: %v", more, again)
	}
}

// scrubs checks a scrubbed interaction and returns the places of the removed secrets.
func scrubs(t *testing.T, x *recording.Interaction, secret string) []redact.SuspectedSecret {
	t.Helper()
	var o Options
	clean, taken := o.Scrubbed(x)
	for _, text := range append(texts(clean), fmt.Sprint(taken)) {
		grep(t, "what is scrubbed", secret, text)
	}
	if len(taken) == 0 {
		t.Error("the redaction is not reported")
	}
	for _, s := range o.FindSecrets(clean) {
		t.Errorf("left: %v", s)
	}
	again, more := o.Scrubbed(clean)
	if diff := cmp.Diff(clean, again, empty); diff != "" || more != nil {
		t.Errorf("the second scrub redacted %v (-once +twice):\n%s", more, diff)
	}
	return taken
}
