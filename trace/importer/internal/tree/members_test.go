package tree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Members of long objects are found in any order, in several objects alternately, and after a change.
func TestLongObjects(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`\"x`, 1000)
	var objects []json.RawMessage
	for n := range 20 {
		objects = append(objects, json.RawMessage(fmt.Sprintf(`{"n" : %d ,"long":"%s" , "\u006eame":[%d], "a":1,"a":{"b":"%d%s"},"":null}`, n, long, n, n, long)))
	}
	check := func(n int, name, want string) {
		t.Helper()
		if got := string(tree.Member(objects[n], name)); got != want {
			t.Errorf("the member %s of the object %d is %.20s, want %.20s", name, n, got, want)
		}
	}
	for range 3 {
		for n := range objects {
			check(n, "name", fmt.Sprintf("[%d]", n))
			check(n, "n", fmt.Sprint(n))
			check(n, "long", `"`+long+`"`)
			check(n, "a", fmt.Sprintf(`{"b":"%d%s"}`, n, long))
			check(n, "", "null")
			check(n, "missing", "")
			if text, _ := tree.Text(objects[n], "a", "b"); text != fmt.Sprint(n)+strings.Repeat(`"x`, 1000) {
				t.Errorf("the text of the object %d is %.20s", n, text)
			}
		}
	}
	for name, object := range map[string]string{"p": `{"p":1,"qq":22,"x":"`, "pp": `{"pp":1,"q":22,"x":"`} { // of one length
		if got := string(tree.Member(json.RawMessage(object+long+`"}`), name)); got != "1" {
			t.Errorf("the member %s is %.20s, want 1", name, got)
		}
	}
	copy(objects[19][len(`{"n" : `):], "77")
	check(19, "n", "77")
	many := `{"a":1` + strings.Repeat(`,"b":2`, 1000) + `,"b":3}`
	for range 2 {
		if got := string(tree.Member(json.RawMessage(many), "b")); got != "3" {
			t.Errorf("the last member is %s, want 3", got)
		}
	}
}
