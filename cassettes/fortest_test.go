package cassettes

import (
	"path/filepath"
	"testing"
)

func TestModeOf(t *testing.T) {
	for _, c := range []struct {
		asked  Mode
		option string
		ci     bool
		want   Mode
	}{
		{"", "", false, Replay},
		{"", "", true, Replay},
		{"", "replay", false, Replay},
		{"", "record", false, Record},
		{"", "record", true, ""},
		{"", "record!", true, Record},
		{"", "passthrough", true, Passthrough},
		{"", "no", false, ""},
		{Record, "", false, Record},
		{Record, "", true, ""},
		{Record, "!", true, Record},
		{Replay, "record", false, Replay},
	} {
		if got, err := modeOf(c.asked, c.option, c.ci); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("variable %q, option %q, in CI %t: got %q, %v, want %q", c.asked, c.option, c.ci, got, err, c.want)
		}
	}
}

func TestFileName(t *testing.T) {
	seen := map[string]string{}
	for name, want := range map[string]string{
		"TestA": "TestA", "TestA/b_c:1": "TestA/b_c%3A1", "TestÄ\t": "TestÄ%09", "TestA/b/c": "TestA/b/c", "TestA/b_c": "TestA/b_c", "TestA_b_c": "TestA_b_c",
		"TestA//b": "TestA/%/b", "TestA/../../b": "TestA/.%2E/.%2E/b", "TestA/.": "TestA/%2E", "TestA/b%2E": "TestA/b%252E", "TestA/b.c": "TestA/b.c", "TestA/": "TestA/%",
	} {
		got := fileName(name)
		if got != filepath.FromSlash(want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if other, found := seen[got]; found {
			t.Errorf("%q and %q have one file, %q", name, other, got)
		}
		seen[got] = name
	}
}

func TestAgain(t *testing.T) {
	for name, want := range map[string]string{
		"TestA":          `LOOPTAPE=record go test -run '^TestA$'`,
		"TestA/it's_1.5": `LOOPTAPE=record go test -run '^TestA$/^it.s_1\.5$'`,
	} {
		if got := recordCommand(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
