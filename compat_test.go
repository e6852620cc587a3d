package looptape_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The compatibility corpus has files that an earlier version wrote, with the expected result of
// reading each. See testdata/compat/README.md. The views in compat_views_test.go describe the
// content of a file in words that do not depend on names of Go, of members or of keys.
const compatDir = "testdata/compat"

var updateCompat = flag.Bool("update-compat", false, "write the expected results of files that have none yet in "+compatDir+"/expected")

// TestCompat reads each file of the corpus and compares its content with the expected result.
func TestCompat(t *testing.T) {
	t.Parallel()
	folders, err := os.ReadDir(compatDir + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		view, ok := compatViews[folder.Name()]
		if !ok {
			t.Errorf("%s/v1/%s has no view in compat_views_test.go: no test reads its files", compatDir, folder.Name())
			continue
		}
		t.Run(folder.Name(), func(t *testing.T) {
			t.Parallel()
			compatFolder(t, folder.Name(), view)
		})
	}
}

// compatFolder compares the files of a folder with its expected results, a member for
// each file.
func compatFolder(t *testing.T, folder string, view func(t *testing.T, path string) any) {
	want := map[string]json.RawMessage{}
	expected := filepath.Join(compatDir, "expected", folder+".json")
	text, err := os.ReadFile(expected)
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil && !*updateCompat {
		t.Fatal(err)
	}
	got := map[string]json.RawMessage{}
	root := filepath.Join(compatDir, "v1", folder)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		seen := view(t, path)
		if seen == nil {
			return nil // read together with another file
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		got[filepath.ToSlash(name)] = compatJSON(t, seen)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if *updateCompat {
		compatUpdate(t, expected, want, got)
		return
	}
	for name, seen := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s/%s: no result is expected of it in %s", root, name, expected)
		}
		if diff := cmp.Diff(compatLines(t, want[name]), compatLines(t, seen)); diff != "" {
			t.Errorf("%s/%s: it no longer reads as it did (-want +got):\n%s", root, name, diff)
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s/%s: the file is missing, or is not read any more", root, name)
		}
	}
}

// compatUpdate writes the expected results of new files. It keeps those of others.
func compatUpdate(t *testing.T, expected string, want, got map[string]json.RawMessage) {
	for name, seen := range got {
		if _, ok := want[name]; !ok {
			want[name] = seen
		}
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(expected, compatLayout(t, text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compatLayout writes short values of an object on one line each.
func compatLayout(t *testing.T, text []byte) []byte {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return append(compatAppend(t, nil, value, ""), '\n')
}

func compatAppend(t *testing.T, dst []byte, value any, indent string) []byte {
	flat := compatJSON(t, value)
	const width = 160
	if len(flat) <= width {
		return append(dst, flat...)
	}
	switch v := value.(type) {
	case map[string]any:
		names := []string{}
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			dst = append(dst, compatStart(i, "{")+"\n"+indent+" "...)
			dst = append(append(dst, compatJSON(t, name)...), ": "...)
			dst = compatAppend(t, dst, v[name], indent+" ")
		}
		return append(dst, "\n"+indent+"}"...)
	case []any:
		for i, item := range v {
			dst = append(dst, compatStart(i, "[")+"\n"+indent+" "...)
			dst = compatAppend(t, dst, item, indent+" ")
		}
		return append(dst, "\n"+indent+"]"...)
	}
	return append(dst, flat...)
}

func compatStart(i int, open string) string {
	if i > 0 {
		return ","
	}
	return open
}

func compatJSON(t *testing.T, value any) []byte {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// compatLines returns the lines of a value, so that a difference is short.
func compatLines(t *testing.T, value json.RawMessage) []string {
	if value == nil {
		return nil
	}
	return strings.Split(string(compatLayout(t, value)), "\n")
}

// compatNumber returns a number with twelve digits.
func compatNumber(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }
