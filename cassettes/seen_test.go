package cassettes

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/redact"
)

// sequences are successive exchanges with a secret that the client sends, or that a response
// contains.
var sequences = map[string]struct {
	answered bool // it is in a response first
	make     func(s string) []exchange
}{
	"key of a header in a later body": {false, func(s string) []exchange {
		return []exchange{{header: "Api-Key: " + s + "\n"}, {header: jsonType, body: `{"role":"tool","content":"env: ` + s + `"}`}}
	}},
	"key of a header in later responses": {false, func(s string) []exchange {
		return []exchange{{header: bearer(s)}, {gotBody: "it is " + inBytes(s)}, {gotHeader: eventsType, gotBody: deltas("data: {\"t\":\"TEXT\"}\n\n", s, 5)}}
	}},
	"key of a body": {false, func(s string) []exchange {
		return []exchange{{header: jsonType, body: `{"password":"` + s + `"}`}, {url: endpoint + "/" + s}}
	}},
	"token of a response": {true, func(s string) []exchange {
		return []exchange{{gotHeader: jsonType, gotBody: `{"access_token":"` + s + `"}`}, {url: endpoint + "/session/" + url.PathEscape(s)}, {header: jsonType, body: `{"a":"` + s + `"}`}}
	}},
	"cookie of a response": {true, func(s string) []exchange {
		return []exchange{{gotHeader: "Set-Cookie: sid=" + s + "; Path=/\n"}, {header: "Cookie: sid=" + s + "\n" + jsonType, body: `{}`}, {header: jsonType, body: `{"sid":"` + s + `"}`}}
	}},
}

// A secret of one interaction is redacted in later ones. A replay with another secret finds
// all of them.
func TestSecretsAcross(t *testing.T) {
	const secret, other = "9f86d081884c7d659a2feaa0c55ad015", "test-key"
	for name, c := range sequences {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.tape")
			follows(t, path, Record, c.make(secret))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			grep(t, "the file", secret, string(text))
			f, err := Parse(path, text)
			if err != nil {
				t.Fatal(err)
			}
			for x, err := range f.All() {
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range texts(x) {
					grep(t, "what is encoded", secret, text)
				}
			}
			with := other
			if c.answered {
				with = redact.Placeholder(secret)
			}
			follows(t, path, Replay, c.make(with))
		})
	}
}

// follows records or replays exchanges.
func follows(t *testing.T, path string, mode Mode, list []exchange) {
	t.Helper()
	o := &Options{Mode: mode}
	c, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		x := plant{make: func(string) exchange { return list[i] }}.with("")
		c.opts.Transport = x
		if _, _, err := x.ask(t, c); err != nil {
			t.Errorf("%s %d: %v", mode, i+1, err)
		}
		if mode == Record {
			journal, err := os.ReadFile(JournalPath(path))
			if err != nil {
				t.Fatal(err)
			}
			grep(t, "the journal", "9f86d081884c7d659a2feaa0c55ad015", string(journal))
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A secret that is found after it was written, or at a place that is not redacted, fails the
// recording. A value that does not look random does not.
func TestSecretKnownLate(t *testing.T) {
	const secret = "9f86d081884c7d659a2feaa0c55ad015"
	for name, c := range map[string]struct {
		secret string
		list   func(s string) []exchange
		want   []string
	}{
		"body": {secret, func(s string) []exchange {
			return []exchange{{header: jsonType, body: `{"a":["env: ` + s + `"]}`}, {}, {header: bearer(s)}}
		}, []string{"1 POST " + endpoint + ", request, body /a/0: a secret that is named in another place (9f86…, 32 bytes)"}},
		"URL": {secret, func(s string) []exchange {
			return []exchange{{}, {url: endpoint + "/" + s}, {gotHeader: jsonType, gotBody: `{"access_token":"` + s + `"}`}}
		}, []string{"2 POST " + endpoint + "/" + match.EscapedPlaceholder(redact.Placeholder(secret)) + ", request, URL: a secret that is named in another place (9f86…, 32 bytes)"}},
		"gzip of events": {secret, func(s string) []exchange {
			return []exchange{{gotHeader: eventsType + "Content-Encoding: gzip\n", gotBody: gzipped(deltas("data: {\"t\":\"TEXT\"}\n\n", s, 20))}, {header: bearer(s)}}
		}, []string{"1 POST " + endpoint + ", response, event 1 /t: a secret that is named in another place, in parts (9f86…, 32 bytes)"}},
		"session": {secret, func(s string) []exchange {
			return []exchange{{header: bearer(s) + SessionHeader + ": " + s + "\n"}}
		}, []string{"1 POST " + endpoint + ", request, session: a secret that is named in another place (9f86…, 32 bytes)"}},
		"harmless": {"dark-theme", func(s string) []exchange {
			return []exchange{{header: jsonType, body: `{"a":"` + s + `"}`}, {header: "Cookie: theme=" + s + "\n"}}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.tape")
			r, err := Open(path, &Options{Mode: Record})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range c.list(c.secret) {
				x = plant{make: func(string) exchange { return x }}.with("")
				sent := x
				sent.header = strings.ReplaceAll(x.header, SessionHeader+": "+c.secret+"\n", "")
				r.opts.Transport = sent
				if _, _, err := x.ask(t, r); err != nil {
					t.Error(err)
				}
			}
			var got []string
			err = r.Close()
			if e, ok := errors.AsType[*redact.SecretError](err); ok {
				for _, s := range e.Secrets {
					got = append(got, s.String())
				}
				if left, _ := filepath.Glob(path + "*"); left != nil {
					t.Errorf("left: %v", left)
				}
				err = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
