package visible_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/visible"
)

// Text that has an effect where it is printed, and what is printed instead.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc\r\n":                               "a\tb\nc\n",
		"\x1b[2Jcleared":                            `\x1b[2Jcleared`,
		"over\rwritten":                             `over\rwritten`,
		"C1: \u009b31m":                             `C1: \u009b31m`,
		"\u202ereversed\u2066":                      `\u202ereversed\u2066`,
		"Grüße 👩\u200d💻 שלום":                       "Grüße 👩\u200d💻 שלום",
		"a\u200bb\u200c\u2060\u00ad":                `a\u200bb\u200c\u2060\u00ad`,
		"\U000e0061 a\u200d 👩\u200d":                `\U000e0061 a\u200d 👩\u200d`,
		"👩🏽\u200d❤\ufe0f\u200d👨":                    "👩🏽\u200d❤\ufe0f\u200d👨",
		"\u200d👩 a\u200d👩":                          `\u200d👩 a\u200d👩`,
		"می\u200cخواهم क्\u200dष ശ്\u200cവ":         "می\u200cخواهم क्\u200dष ശ്\u200cവ",
		"م\u200c م\u200c\u200cم \u200cم क\u200dم":   `م\u200c م\u200c\u200cم \u200cم क\u200dم`,
		"a\u200cb a\u200dم م\u200d1 م\u202eم":       `a\u200cb a\u200dم م\u200d1 م\u202eم`,
		"::error::x":                                `\::error::x`,
		"a\n \t::set-env name=x::":                  "a\n \t\\::set-env name=x::",
		"std::string":                               "std::string",
		"see ##[error]x":                            `see #\#[error]x`,
		"##vso[task.x] ##teamcity[y] ## Title ###[": `#\#vso[task.x] #\#teamcity[y] ## Title ##\#[`,
	} {
		if got := string(visible.Text([]byte(text))); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if again := string(visible.Text([]byte(want))); again != want {
			t.Errorf("%q: escaped again it is %q", want, again)
		}
	}
	if got := visible.Escaped("a\nb\u202e"); got != `a\nb\u202e` {
		t.Errorf("got %q", got)
	}
}

// JSON keeps its meaning and has none of it.
func TestJSON(t *testing.T) {
	const value = "\u202e ##[x] \u009b ### \u2028 # \u200b \U000e0061"
	text, err := json.Marshal(map[string]string{"##[": value})
	if err != nil {
		t.Fatal(err)
	}
	got := visible.JSON(append(text, '\n'))
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back["##["] != value {
		t.Errorf("%s is %q, %v", got, back, err)
	}
	if strings.Contains(string(got), "##") || strings.ContainsFunc(string(got), visible.Hidden) {
		t.Errorf("got %s", got)
	}
}
