package looptape_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each test that docs/security.md names is in its package, and so is each script.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	named := regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1)
	if len(named) < 10 {
		t.Fatalf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !testsIn(t, m[1]).has(m[2]) {
			t.Errorf("%s has no %s", m[1], m[2])
		}
	}
	for _, m := range regexp.MustCompile("script `([a-z_]+)`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat("cmd/looptape/testdata/script/" + m[1] + ".txtar"); err != nil {
			t.Error(err)
		}
	}
}
