package cassettes_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// Each replay appends one line to a report, with one name for all links of a file.
func TestReport(t *testing.T) {
	path := recorded(t, cassettes.Options{}, "1", "2", "3")
	report, link := filepath.Join(t.TempDir(), "report"), filepath.Join(t.TempDir(), "link.tape")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		ask  []string
	}{{path, []string{"3", "1"}}, {link, nil}} {
		play := open(t, c.path, cassettes.Options{AllowUnused: true})
		for _, body := range c.ask {
			send(t, play, "POST", "http://example.com/", body)
		}
		if err := play.Report(report); err != nil {
			t.Fatal(err)
		}
	}
	pass := open(t, "none.tape", cassettes.Options{Mode: cassettes.Passthrough})
	if err := pass.Report(report); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	got, err := cassettes.ReadReport(report, text)
	want := []cassettes.Usage{
		{Cassette: cassettes.FullPath(path), Used: []int{1, 3}}, {Cassette: cassettes.FullPath(path), Used: []int{}}, {Cassette: cassettes.FullPath("none.tape"), Used: []int{}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the report: %v (-want +got):\n%s", err, diff)
	}
	if err := pass.Report(filepath.Join(report, "none")); err == nil {
		t.Error("it is written where it cannot be")
	}
	for _, line := range []string{"{}", "[]", "\n", "{\"cassette\":1}"} {
		_, err := cassettes.ReadReport("r", append(text, line...))
		if want := `r:4: invalid line of a report: want a line such as {"cassette":"/x.tape","used":[1]}`; err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}
