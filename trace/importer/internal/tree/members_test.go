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
		var x tree.Index
		if x.Read(objects[n]); string(x.Member(name)) != want {
			t.Errorf("the member %s in the index of the object %d is %.20s, want %.20s", name, n, x.Member(name), want)
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

// An index has the members of an object, short or long, and nothing of another value.
func TestIndex(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`\"x`, 1000)
	for _, text := range []string{"short", long} {
		var x tree.Index
		x.Read(json.RawMessage(`{"a":1, "\u006eame" : "` + text + `","null":null,"a":2,"b":[1]}`))
		if got := string(x.Member("a")); got != "2" {
			t.Errorf("the member a is %q, want 2", got)
		}
		if got, want := string(x.Without("a", "b")), `{"name":"`+text+`","null":null}`; got != want {
			t.Errorf("the rest is %.40q, want %.40q", got, want)
		}
		if got := string(x.First("missing", "b", "a")); got != "[1]" {
			t.Errorf("the first member is %q, want [1]", got)
		}
		if !x.HasOthers("a", "name", "b") || x.HasOthers("a", "b", "null", "name") {
			t.Error("HasOthers is wrong")
		}
		if !x.AreStrings("name", "null", "missing") || x.AreStrings("name", "a") {
			t.Error("AreStrings is wrong")
		}
		names := ""
		for name := range x.All() {
			names += " " + name
		}
		if want := " a name null a b"; names != want {
			t.Errorf("the members are%s, want%s", names, want)
		}
		for _, other := range []string{`[1]`, `"{"`, ``, `{}`} {
			if x.Read(json.RawMessage(other)); x.Member("a") != nil || x.Without() != nil || x.HasOthers() {
				t.Errorf("%q has members", other)
			}
		}
	}
}
