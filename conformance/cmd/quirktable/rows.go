package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/loop/scenario"
)

// The goldens of the quirks name the form and the scenario of each quirk.
const (
	goldens   = "fake/wire/testdata/quirks"
	scenarios = "fake/wire/testdata/scenarios"
)

// row is a form of a quirk with its scenario.
type row struct {
	name   string // for wire.ParseQuirk
	quirk  wire.Quirk
	form   wire.Quirk
	script *fake.Script
}

// rows returns all forms, sorted by their ids, after a row without a quirk.
func rows(root string) ([]row, error) {
	forms := wire.Quirks()
	place := map[string]int{}
	for i, f := range forms {
		place[formName(f)] = i
	}
	files, err := filepath.Glob(filepath.Join(root, goldens, "*.txt"))
	if err != nil {
		return nil, err
	}
	withoutQuirk, err := load(root, "calls")
	if err != nil {
		return nil, err
	}
	list := []row{{name: "none", form: wire.Quirk{Description: "as documented", Protocols: looptape.protocols}, script: withoutQuirk}}
	shown := make([]bool, len(forms))
	for _, file := range files {
		r, err := readRow(root, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name, _, _ := strings.Cut(r.quirk.String(), "@")
		i := place[name]
		r.form, shown[i] = forms[i], true
		list = append(list, r)
	}
	if i := slices.Index(shown, false); i >= 0 {
		return nil, fmt.Errorf("no file of %s has the form %s", goldens, formName(forms[i]))
	}
	all := slices.Clone(list)
	list = slices.DeleteFunc(list, func(r row) bool { // one scenario per form is enough
		return slices.ContainsFunc(all, func(o row) bool { return o.name == r.name+"@1" })
	})
	slices.SortStableFunc(list, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.form.ID, b.form.ID), cmp.Compare(place[formName(a.form)], place[formName(b.form)]), cmp.Compare(a.name, b.name))
	})
	return list, nil
}

func formName(f wire.Quirk) string { return strings.TrimSuffix(f.ID+":"+f.Form, ":") }

// readRow reads the first two lines of a golden, which name the quirk and the scenario.
func readRow(root, file string) (r row, err error) {
	f, err := os.Open(file)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }() // only read
	lines := bufio.NewScanner(f)
	lines.Scan()
	r.name, _, _ = strings.Cut(lines.Text(), ": ")
	lines.Scan()
	name, ok := strings.CutPrefix(strings.TrimSuffix(lines.Text(), "."), "Scenario: ")
	if !ok {
		return r, fmt.Errorf("second line %q: want a scenario, as in Scenario: NAME", lines.Text())
	}
	if r.quirk, err = wire.ParseQuirk(r.name); err != nil {
		return r, err
	}
	if r.script, err = load(root, name); err == nil && !runnable(r.script) {
		r.script, err = load(root, "calls")
	}
	return r, err
}

func load(root, name string) (*fake.Script, error) {
	path := filepath.Join(root, scenarios, name+".yaml")
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := scenario.Parse(path, src)
	if err != nil {
		return nil, err
	}
	return f.Script, nil
}

// runnable reports whether the clients have all tools of a script.
func runnable(s *fake.Script) bool {
	return !slices.ContainsFunc(s.Tools, func(t fake.Tool) bool {
		return !slices.ContainsFunc(tools, func(own tool) bool { return own.name == t.Name })
	})
}
