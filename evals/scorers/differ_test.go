package scorers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffer(t *testing.T) {
	d, err := NewDiffer("/at", "/list/*/id")
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Differences(`{"n":1.0,"at":1,"list":[{"id":1,"a/b":2}],"gone":null}`, `{"list":[{"id":2,"a/b":"x"}],"at":2,"n":1,"new":{}}`)
	want := []Difference{{"/gone", "null", "nothing"}, {"/list/0/a~1b", "2", `"x"`}, {"/new", "nothing", "{}"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := d.Differences(`{"at":1}`, `{}`); err != nil || got != nil {
		t.Errorf("of what is ignored: got %v, %v", got, err)
	}
	for _, c := range [][3]string{{"{", "1", "want: unexpected EOF"}, {"1", "1 2", "got: unexpected data after the value"}} {
		if _, err := d.Differences(c[0], c[1]); err == nil || err.Error() != c[2] {
			t.Errorf("%s and %s: got the error %v, want %s", c[0], c[1], err, c[2])
		}
	}
	if _, err := NewDiffer("at"); err == nil || err.Error() != `the JSON pointer "at": missing / at the beginning` {
		t.Errorf("got the error %v", err)
	}
}
