package main

import (
	"path/filepath"
	"testing"

	"github.com/looptape/looptape/cassettes"
)

// The command that records again names the servers that are not where the providers are,
// in words that a shell takes apart as they were.
func TestAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b.tape")
	head := cassettes.Head{Upstreams: map[string]string{"openai": "https://api.openai.com/v1", "my": "http://localhost:80/v1?a=1&b"}}
	if err := cassettes.Write(path, head, nil, nil); err != nil {
		t.Fatal(err)
	}
	v := deck{file: path, opts: cassettes.Options{Upstreams: map[string]string{"other": "http://x/"}}}
	want := "looptape record -o '" + path + "' --upstream 'my=http://localhost:80/v1?a=1&b' --upstream other=http://x/ -- node agent.js '' 'it'\\''s' '$x' 'é=%40'"
	if got := v.again([]string{"node", "agent.js", "", "it's", "$x", "é=%40"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v.file = filepath.Join(t.TempDir(), "none.tape")
	if got, want := v.again(nil), "looptape record -o "+v.file+" --upstream other=http://x/"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
