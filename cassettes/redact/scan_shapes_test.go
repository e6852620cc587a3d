package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
)

func randomText(rnd *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// The scan finds nearly all random words.
func TestRandomWords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, alphabet := range map[string]string{"62": letters + digits, "64": letters + digits + "-_", "36": lower + digits, "base64": letters + digits + "+/"} {
		missed := 0
		for n := range 1000 {
			if w := "is " + randomText(rnd, alphabet, 32+n%40) + "."; len((&Rules{}).findShapes(w)) != 1 {
				missed++
			}
		}
		if missed > 80 {
			t.Errorf("of 1000 words of the alphabet of %s, %d were not found", name, missed)
		}
		t.Logf("%s: %d missed", name, missed)
	}
}

func TestShapes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	some := func(n int) string { return "1" + randomText(rnd, letters+digits, n-1) }
	for text, want := range map[string]string{
		"sk-ant-api03-" + some(90):   "a key of Anthropic",
		"sk-proj-" + some(48):        "a key",
		"sk-" + some(20):             "a key",
		"AIza" + some(35):            "a key of Google",
		"ya29." + some(30):           "a token of Google",
		"ghp_" + some(36):            "a token of GitHub",
		"gho_" + some(36):            "a token of GitHub",
		"github_pat_" + some(22):     "a token of GitHub",
		"glpat-" + some(20):          "a token of GitLab",
		"xoxb-" + "123456789012-abc": "a token of Slack",
		"AKIA" + "ABCDEFGHIJ234567":  "a key of AWS",
		"eyJ" + some(20) + ".eyJ" + some(20) + "." + some(20):               "a token in JSON (JWT)",
		"-----BEGIN RSA PRIVATE KEY-----\na\n-----END RSA PRIVATE KEY-----": "a private key",
		"hf_" + some(34):      "a token of Hugging Face",
		"gsk_" + some(52):     "a key of Groq",
		"r8_" + some(37):      "a token of Replicate",
		"pplx-" + some(48):    "a key of Perplexity",
		"xai-" + some(60):     "a key of xAI",
		"sk_live_" + some(24): "a key of Stripe",
	} {
		for _, in := range []string{text, "key=" + text + ", ", `"` + text + `"`, "\x1b[1;31m" + text + "\x1b[0m"} {
			hits := (&Rules{}).findShapes(in)
			if len(hits) != 1 || hits[0].what != want || in[hits[0].from:hits[0].to] != text {
				t.Errorf("%q: %+v, want %s", in, hits, want)
			}
		}
	}
}

// The scan accepts values that look random but are not secrets.
func TestHarmless(t *testing.T) {
	for _, text := range []string{
		"d41d8cd98f00b204e9800998ecf8427e", "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709", "123e4567-e89b-12d3-a456-426614174000",
		"claude-sonnet-4-5-20250929-v1-thinking-preview", "projects/my-project-123/locations/us-central1/publishers/google/models/gemini-2.5-pro",
		"getUserAccountInformationById2FromDatabase", "2026-11-21T08:33:20.123456789+02:00", "sk-toggleable__label-arrow-parent-of-all", "sk-learn", "ask-1234567890123456789012",
		"AKIA", "-----BEGIN PUBLIC KEY-----", "data:image/png;base64," + randomText(rand.New(rand.NewPCG(1, 1)), letters+digits, 300), randomText(rand.New(rand.NewPCG(1, 1)), letters+digits, 600),
		"================================================", "aaaaaaaa1aaaaaaaa1aaaaaaaa1aaaaaaaa1", "/domains/root/db/xn--4gbrim-a1b2/c3d4e5",
		"cache_key_d41d8cd98f00b204e9800998ecf8427ed41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e.json", "d41d8cd98f00b204e9800998ecf8427e.configurationfil", "| 123456789012345|not a token of 27 characters",
		"123e4567-e89b-12d3-a456-426614174000:8080", "12Q~ and 3Q~", "s.addBufferedTokenIfExists", "s.ReadUint16LengthPrefixed", "test_OrderedUnionCoderDeterministic", "20170915032832-14c0d48ead0cd47e3104ada247d91be04afc7a5a",
		Placeholder("a secret of some length"), "(request_id=req_011CTx4vT9kQhJ3sYw8nZbLp2RfD)", "chatcmpl-BxYz12AbCdEf34GhIjKl56MnOpQr",
	} {
		if hits := (&Rules{}).findShapes("see " + text + " there"); hits != nil {
			t.Errorf("%q: %+v", text, hits)
		}
	}
}

// A value after the name of a secret is redacted unless NotSecret has the name and Secret has not.
func TestRedactedNotSecret(t *testing.T) {
	const random, plain = `{"token":"q7Xz92LmPa8Kd31R"}`, `{"password":"hunter2secret"}`
	for name, c := range map[string]struct {
		body  string
		rules Rules
		kept  bool
	}{
		"a name with harmless values, too":   {random, Rules{}, false},
		"which is named":                     {random, Rules{NotSecret: []string{"to-ken"}}, true},
		"a name of secrets":                  {plain, Rules{}, false},
		"named without lines":                {plain, Rules{NotSecret: []string{"Pass_word"}}, true},
		"named by its place":                 {plain, Rules{NotSecret: []string{"/password"}}, true},
		"named as another place":             {plain, Rules{NotSecret: []string{"/user/password"}}, false},
		"named in both lists":                {plain, Rules{Secret: []string{"password"}, NotSecret: []string{"password"}}, false},
		"by place in both lists":             {plain, Rules{Secret: []string{"/password"}, NotSecret: []string{"password"}}, false},
		"the value of an object with a name": {`{"name":"password","value":"hunter2secret"}`, Rules{NotSecret: []string{"password"}}, true},
	} {
		x := c.rules.Redacted(&recording.Interaction{Request: recording.Request{Body: []byte(c.body)}})
		if kept := string(x.Request.Body) == c.body; kept != c.kept {
			t.Errorf("%s: got %s", name, x.Request.Body)
		}
	}
	x := &recording.Interaction{Request: recording.Request{Body: []byte(`{"password":"sk-ant-api03-q7Xz92LmPa8Kd31Rq7Xz92LmPa8Kd31R"}`)}}
	if found := (&Rules{NotSecret: []string{"password"}}).FindSecrets(x); found == nil {
		t.Error("the scan does not find a key in a known form")
	}
}

// Names and values in two members of an object, the members of a JSON Web Key, and the segments of a path.
func TestNamesNextToValues(t *testing.T) {
	const v = "q7Wz4mK9pL2xVb8N"
	for text, kept := range map[string]bool{
		`{"key":"DB_PASSWORD","val":"` + v + `"}`:                        false,
		`{"k":"DB_PASSWORD","v":"` + v + `"}`:                            false,
		`{"variable":"DB_PASSWORD","value":"` + v + `"}`:                 false,
		`{"value":"` + v + `","name":"DB_PASSWORD"}`:                     false,
		`[{"value":"` + v + `","in":[{"name":"x"}],"key":"api_key"}]`:    false,
		`{"Value":"` + v + `","about":"a \"key\": b","Key":"API_KEY"}`:   false,
		`{"value":"` + v + `","in":{"name":"DB_PASSWORD"}}`:              true,
		`[{"value":"` + v + `"},{"name":"DB_PASSWORD"}]`:                 true,
		`{"value":"` + v + `","color":"name","note":"token"}`:            true,
		`{"key":"color","value":"` + v + `"}`:                            true,
		`{"value":"` + v + `","color":"` + strings.Repeat("x", 1<<13):    true,
		`{"kty":"oct","k":"` + v + `"}`:                                  false,
		`{"d":"` + v + `","kty":"EC"}`:                                   false,
		`{"kty":"RSA","oth":[{"d":"` + v + `"}]}`:                        false,
		`{"jwk":{"kty":"EC"},"q":"` + v + `"}`:                           true,
		`{"q":{"d":"` + v + `","in":{"kty":"EC"}}}`:                      true,
		`{"keys":[{"kty":"RSA","dq":"` + v + `"}]}`:                      false,
		`{"kty":"EC","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4"}`: true,
		`{"k":"` + v + `","d":"` + v + `"}`:                              true,
		`{"url":"https://a.example/reset/password/` + v + `?x=1"}`:       false,
		`{"url":"https://a.example/v1/api-key/` + v + `"}`:               false,
		`{"url":"https://a.example/tokens/` + v + `/x"}`:                 false,
		`{"url":"https://a.example/page-token/` + v + `"}`:               true,
		`{"url":"https://a.example/token/refresh-of-the-session"}`:       true,
		`{"url":"https://a.example/files/` + v + `"}`:                    true,
		`{"path":"/etc/app/secret/settings-v2-of-2024/x"}`:               true,
		`{"path":"src/keys/` + v + `.ts"}`:                               true,
	} {
		x := &recording.Interaction{Request: recording.Request{Body: []byte(text)}}
		out := (&Rules{}).Redacted(x)
		found := (&Rules{}).FindSecrets(out)
		if got := string(out.Request.Body) == text; got != kept || found != nil {
			t.Errorf("%s: got %s, %v", text, out.Request.Body, found)
		}
	}
	other := `{"jwk":{"kty":"EC"},"x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4"}`
	if (&Rules{}).FindSecrets(&recording.Interaction{Request: recording.Request{Body: []byte(other)}}) == nil {
		t.Errorf("%s: nothing is found in a member next to a key", other)
	}
	x := &recording.Interaction{Request: recording.Request{URL: "https://a.example/token/" + v}}
	if got := (&Rules{}).Redacted(x).Request.URL; strings.Contains(got, v) {
		t.Error(got)
	}
}
