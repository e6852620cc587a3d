package fake_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
)

// TestYAMLErrors checks the positions of YAML errors.
func TestYAMLErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"version: 1\nmodels:\n  main:\n    - text: a\n   bad: b\n", "5:4: did not find expected key, while parsing a block mapping that begins at 3:3"},
		{"version: 1\nmodels:\n  main: [{text: a}, {n: 1}}]\n", "3:27: did not find expected ',' or ']', while parsing a flow sequence that begins at 3:9"},
		{"version: 1\nmodels:\n  main:\n    - text: a\n    - text: *a\n", "5:13: unknown anchor 'a' referenced"},
		{"*a", "1:1: unknown anchor 'a' referenced"},
		{"version: 1\nmodels:\n  main:\n    - text: a\n    - text: @a\n", "5:13: found character that cannot start any token"},
		{"version: 1\nnäme: [é, @]", "2:11: found character that cannot start any token"},
		{"version: 1\nmodels:\n  main:\n    - text: a\n\n    - {text: b\n    - text: c\n", "6:7: did not find expected ',' or '}' by 7:11, while parsing a flow mapping that begins here"},
		{"version: 1\nmodels:\n  main: [{text: b", "3:10: did not find expected ',' or '}' by 4:1, while parsing a flow mapping that begins here"},
		{"version: 1\nname: {a: b c: d}", "2:14: did not find expected ',' or '}', while parsing a flow mapping that begins at 2:7"},
		{"version: 1\nname: \"a\ndoc: b\n", "2:7: found unexpected end of stream by 4:1, while scanning a quoted scalar that begins here"},
		{"version: 1\nname: 'a\ndoc: b\n", "2:7: found unexpected end of stream by 4:1, while scanning a quoted scalar that begins here"},
		{"version: 1\nname: \"a\n \\q\"\n", "3:2: found unknown escape character, while parsing a quoted scalar that begins at 2:7"},
		{"version: 1\nname a\ndoc: b\n", "2:1: could not find expected ':' by 3:1, while scanning a simple key that begins here"},
		{"version: 1\nname: a: b", "2:8: mapping values are not allowed in this context"},
		{"version: 1\nname: a\n\tdoc: b", "3:1: found a tab character that violates indentation, while scanning a plain scalar that begins at 2:7"},
		{"version: 1\n- a\n", "2:1: did not find expected key, while parsing a block mapping that begins at 1:1"},
		{"]", "1:1: did not find expected node content"},
		{"version: 1\n---\n[", "4:1: did not find expected node content"},
		{"version: 1\nname: !a!b c\n", "2:7: found undefined tag handle"},
	} {
		_, err := fake.ParseScript("s.yaml", []byte(c.src))
		place, words, _ := strings.Cut(c.want, ": ")
		if diff := cmp.Diff("s.yaml:"+place+": invalid YAML: "+words, err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.src, diff)
		}
	}
	_, err := fake.ParseScript("x.txtar", []byte("\n\n\n\nversion: 1\nname: {\ndoc: b\n"))
	check(t, "in an archive", "x.txtar:6:7: invalid YAML: did not find expected ',' or '}' by 8:1, while parsing a flow mapping that begins here", err.Error())
	_, err = fake.ParseScript("x.txtar", []byte("\n\n\n\nversion: 1\n  name: [}\n"))
	check(t, "in an archive", "x.txtar:6:7: invalid YAML: mapping values are not allowed in this context", err.Error())
	_, err = fake.ParseScript("x.txtar", []byte("\n\n\n\nversion: 1\n- a\n"))
	check(t, "in an archive", "x.txtar:6:1: invalid YAML: did not find expected key, while parsing a block mapping that begins at 5:1", err.Error())
}

func TestSyntaxErrorPlaces(t *testing.T) {
	for want, e := range map[string]fake.SyntaxError{
		"f:3:7: no": {File: "f", Line: 3, Col: 7, Msg: "no"},
		"f:3: no":   {File: "f", Line: 3, Msg: "no"},
		"f: no":     {File: "f", Msg: "no"},
		"no":        {Msg: "no"},
	} {
		check(t, "error", want, e.Error())
	}
}
