package looptape_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Where the Go examples of the documents are compiled and run.
var examples = map[string][]string{
	"README.md": {"trace/importer/example_test.go"},
}

// TestReadme holds that each Go example in a document stands, but for its
// indentation, in a file that is compiled and run as a test.
func TestReadme(t *testing.T) {
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	for doc, files := range examples {
		var code string
		for _, name := range files {
			code += flat(t, name)
		}
		found := block.FindAllStringSubmatch(read(t, doc), -1)
		if len(found) == 0 {
			t.Errorf("%s has no Go example; drop it from the table in this test", doc)
		}
		for _, m := range found {
			if !strings.Contains(code, unindent(m[1])) {
				t.Errorf("this example of %s is in none of %v:\n%s", doc, files, m[1])
			}
		}
	}
}

func flat(t *testing.T, name string) string { return unindent(read(t, name)) }

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func unindent(s string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(s, "")
}
