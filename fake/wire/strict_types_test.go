package wire_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// jsonTypes has a value of each JSON type.
var jsonTypes = []struct{ name, value string }{
	{"null", `null`}, {"number", `1`}, {"string", `"x"`}, {"bool", `true`}, {"list", `[]`}, {"object", `{}`},
}

// The golden lists each member of the valid requests of TestStrict with the JSON types that the
// server accepts there. A member that another type suddenly may have is a request that a
// provider rejects and the server accepts.
func TestStrictTypes(t *testing.T) {
	accepted := map[string][]string{}
	for _, row := range strictRows() {
		if row.path != "" || !json.Valid([]byte(row.right)) {
			continue
		}
		walkJSON([]byte(row.right), func(place string, with func(value string) []byte) {
			place = row.id[:2] + " " + place
			if accepted[place] != nil {
				return
			}
			list := []string{}
			for _, typ := range jsonTypes {
				s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
				if w := post(t, s, strictPaths[row.id[:2]], string(with(typ.value))); w.Code == http.StatusOK {
					list = append(list, typ.name)
				}
			}
			accepted[place] = list
		})
	}
	var lines []string
	for place, list := range accepted {
		lines = append(lines, strings.TrimSuffix(place+": "+strings.Join(list, " "), " ")+"\n")
	}
	slices.Sort(lines)
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".txt"), goldie.WithDiffEngine(goldie.ClassicDiff)).Assert(t, "types", []byte(strings.Join(lines, "")))
}

// walkJSON calls visit for each member of the objects in a JSON text, with its place and a
// function that returns the text with another value there. A place has the type or role of the
// object that the member belongs to.
func walkJSON(text []byte, visit func(place string, with func(value string) []byte)) {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return
	}
	var walk func(place string, at any)
	walk = func(place string, at any) {
		switch at := at.(type) {
		case []any:
			for _, v := range at {
				walk(place+"[]", v)
			}
		case map[string]any:
			if kind, is := at["type"].(string); is {
				place += "(" + kind + ")"
			} else if role, is := at["role"].(string); is {
				place += "(" + role + ")"
			}
			for _, key := range slices.Sorted(maps.Keys(at)) {
				was, member := at[key], strings.TrimPrefix(place+"."+key, ".")
				visit(member, func(other string) []byte {
					at[key] = json.RawMessage(other)
					out, err := json.Marshal(value)
					if err != nil {
						panic(err) // value is JSON
					}
					return out
				})
				at[key] = was
				if key != "properties" && key != "args" && key != "input" {
					walk(member, was)
				}
			}
		}
	}
	walk("", value)
}
