package redact_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// The value of a label is found in the lines near its name: in long lines, after empty lines, and with names
// that the rules add.
func TestLabelsNearTheirNames(t *testing.T) {
	const value, random = "hunter2", "q7Xz92LmPa8Kd31R"
	long := strings.Repeat("words and ", 1000)
	for name, c := range map[string]struct {
		text  string
		rules redact.Rules
	}{
		"a long line":           {text: long + "<b>Password:</b> " + value + " " + long},
		"the end of a line":     {text: long + "**Password:** " + value + "\n" + long},
		"several lines":         {text: long + "\n<string\n\n  lang=\"x\"\n  name=\"api_key\"\n  class=\"y\">\n\n" + value + "\n</string>\n" + long},
		"two names":             {text: "**Password:** none\n" + strings.Repeat("- words\n", 20) + "**API key:** " + value + "\n"},
		"a name after a stem":   {text: "the path, the task and the code. **Password:** " + value},
		"the name of the rules": {text: long + "**Flurb:** " + value, rules: redact.Rules{Secret: []string{"flurb"}}},
		"a segment of a path":   {text: "https://example.com/" + strings.Repeat("words/", 1000) + "reset_token/" + random + "?x"},
	} {
		x := &recording.Interaction{Response: recording.Response{Body: []byte(c.text)}}
		got := string(c.rules.Redacted(x).Response.Body)
		want := strings.NewReplacer(value, redact.Placeholder(value), random, redact.Placeholder(random)).Replace(c.text)
		if got != want {
			t.Errorf("%s: the value is not redacted", name)
		}
	}
}

// A value that is longer than the lines near its name is redacted to its end.
func TestLabelOfLongValue(t *testing.T) {
	value := strings.Repeat("aB3/", 500) + "end9"
	text := "<password><![CDATA[" + value + "]]></password>"
	got := (&redact.Rules{}).Redacted(&recording.Interaction{Response: recording.Response{Body: []byte(text)}})
	if body := string(got.Response.Body); strings.Contains(body, "aB3/") || strings.Contains(body, "end9") || !strings.HasSuffix(body, "]]></password>") {
		t.Errorf("got %d bytes: %.80s", len(body), body)
	}
}
