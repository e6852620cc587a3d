package cassettes

import "testing"

func TestModeOf(t *testing.T) {
	for _, c := range []struct {
		asked Mode
		told  string
		ci    bool
		want  Mode
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
		if got, err := modeOf(c.asked, c.told, c.ci); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("asked %q, told %q, in CI %t: %q, %v, want %q", c.asked, c.told, c.ci, got, err, c.want)
		}
	}
}

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{"TestA": "TestA", "TestA/b c:1": "TestA_b_c_1", "TestÄ\t": "TestÄ_"} {
		if got := fileName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestAgain(t *testing.T) {
	for name, want := range map[string]string{
		"TestA":          `LOOPTAPE=record go test -run '^TestA$'`,
		"TestA/it's_1.5": `LOOPTAPE=record go test -run '^TestA$/^it.s_1\.5$'`,
	} {
		if got := again(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
