package cassettes_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// A file that was edited is sealed again, and answers to what it says now.
func TestReseal(t *testing.T) {
	path := recorded(t, cassettes.Options{}, `{"prompt":"one"}`, `{"prompt":"two"}`)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	for name, c := range map[string]struct {
		old, edited string
		changed     []string
	}{
		"nothing":     {"", "", nil},
		"a request":   {`"one"`, `"number one"`, []string{"1 POST http://example.com/ -> 200 0s: the body of the request, now 23 bytes, 16 before"}},
		"an answer":   {`< {"prompt":"two"}`, `< two{"prompt":"two"}`, []string{"2 POST http://example.com/ -> 200 0s: the body of the response, now 803 bytes, 800 before"}},
		"layout":      {`> {"prompt": "one"}`, "> {\n>  \"prompt\":\n> \"one\"\n> }", []string{"lines that are not of a body, or how many interactions there are"}},
		"a header":    {"> Content-Type: application/json", "> Content-Type: text/json", []string{"lines that are not of a body, or how many interactions there are"}},
		"one is gone": {text[strings.Index(text, "=== 2"):strings.Index(text, "=== end")], "", []string{"lines that are not of a body, or how many interactions there are"}},
		"no end":      {text[strings.Index(text, "=== end"):], "", []string{"lines that are not of a body, or how many interactions there are"}},
	} {
		t.Run(name, func(t *testing.T) {
			edited := strings.Replace(text, c.old, c.edited, 1)
			sealed, changed, err := cassettes.Reseal("r.tape", []byte(edited))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.changed, changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if name == "nothing" && string(sealed) != text {
				t.Errorf("a good file is changed:\n%s", cmp.Diff(text, string(sealed)))
			}
			if _, err := cassettes.Parse("r.tape", sealed); err != nil {
				t.Error(err)
			}
			if name == "a request" {
				if err := os.WriteFile(path, sealed, 0o600); err != nil {
					t.Fatal(err)
				}
				play := open(t, path, cassettes.Options{AllowUnused: true})
				send(t, play, "POST", "http://example.com/", `{"prompt":"number one"}`)
			}
		})
	}
	if _, _, err := cassettes.Reseal("r.tape", []byte(strings.Replace(text, "--- >", "--- ?", 1))); err == nil || !strings.HasPrefix(err.Error(), "r.tape:12: ") {
		t.Errorf("a line that is none of a cassette: %v", err)
	}
}

// The matching is that of the options, or without any that which the head names.
func TestEncodeMatch(t *testing.T) {
	for _, c := range []struct {
		head cassettes.Head
		opts *cassettes.Options
		want string
	}{
		{cassettes.Head{}, nil, "\nmatch 1\n"},
		{cassettes.Head{Match: "1 /a ?b"}, nil, "\nmatch 1 /a ?b\n"},
		{cassettes.Head{Match: "1 /a"}, &cassettes.Options{Volatile: []string{"/b"}}, "\nmatch 1 /b\n"},
	} {
		if got := cassettes.Encode(c.head, c.opts, nil); !strings.Contains(string(got), c.want) {
			t.Errorf("want %q in\n%s", c.want, got)
		}
	}
}
