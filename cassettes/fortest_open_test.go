package cassettes_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// named is a test with another name.
type named struct {
	*testing.T
	name string
}

func (n named) Name() string { return n.name }

// ForTest records if the mode is record, replays otherwise, and closes the cassette.
func TestForTest(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CI", "")
	t.Setenv(cassettes.ReportEnv, "report")
	path := filepath.Join("testdata", "cassettes", "TestForTest", "weather_in_Bern.tape")
	for _, c := range []struct {
		option string
		to     http.RoundTripper
	}{{"record", echo{}}, {"replay", nil}, {"", nil}} {
		t.Setenv(cassettes.Env, c.option)
		t.Run(c.option, func(t *testing.T) {
			tape := cassettes.ForTest(named{t, "TestForTest/weather_in_Bern"}, &cassettes.Options{Transport: c.to})
			if got := send(t, tape, "POST", "http://example.com/", "a"); got.text != strings.Repeat("a", 50) {
				t.Errorf("option %q: got %q", c.option, got.text)
			}
		})
		f, err := cassettes.ReadFile(path)
		if err != nil || f.Len() != 1 {
			t.Fatalf("option %q: %v", c.option, err)
		}
	}
	text, err := os.ReadFile("report")
	if err != nil {
		t.Fatal(err)
	}
	got, err := cassettes.ReadReport("report", text)
	used := cassettes.Usage{Cassette: cassettes.FullPath(path), Used: []int{1}}
	if diff := cmp.Diff([]cassettes.Usage{used, used}, got); diff != "" || err != nil { // of the two replays
		t.Errorf("the report: %v (-want +got):\n%s", err, diff)
	}
}
