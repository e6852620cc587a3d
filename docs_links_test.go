package looptape_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/docpage"
)

// TestDocLinks checks that the targets of links exist, and that README links to every page.
func TestDocLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)]*)\)`) // also links that a browser does not recognize
	linked := map[string]bool{}
	for _, page := range pages(t) {
		text := docpage.Prose(read(t, page))
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if page == "README.md" {
				linked[filepath.ToSlash(file)] = true
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if anchor != "" && !anchors(read(t, file))[anchor] {
				t.Errorf("%s links to %s: no such heading in %s", page, m[1], file)
			}
		}
	}
	for _, page := range pages(t) {
		if page != "README.md" && !linked[filepath.ToSlash(page)] {
			t.Errorf("README.md does not link to %s", page)
		}
	}
}

// anchors returns the anchors of the headings of a page, as GitHub writes them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(docpage.Prose(text), -1) {
		out[slug(m[1])] = true
	}
	return out
}

// slug returns the anchor of a heading.
func slug(heading string) string {
	drop := regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	return strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func TestAnchors(t *testing.T) {
	got := anchors("# One\n```yaml\n# no heading\n```\n## How to add …\n### `run`, and more: 3 ways\n")
	for _, want := range []string{"one", "how-to-add-", "run-and-more-3-ways"} {
		if !got[want] {
			t.Errorf("no anchor %q in %v", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

// docName is a Go name of a package of this module in a document, such as `llm.Model` or
// `trace.Writer.Write`.
var docName = regexp.MustCompile("`[*]?([a-z]+)\\.([A-Z][A-Za-z0-9]*(?:\\.[A-Z][A-Za-z0-9]*)?)[^`]*`")

// TestDocNames checks that the Go names in the documents exist.
func TestDocNames(t *testing.T) {
	packages := map[string]map[string]bool{}
	for _, dir := range publicPackages(t) {
		packages[filepath.Base(dir)] = declaredIn(t, os.DirFS("."), dir)
	}
	checked := 0
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" || page == "docs/contracts.md" {
			continue // has names of older versions, or of tests
		}
		for _, m := range docName.FindAllStringSubmatch(docpage.Prose(read(t, page)), -1) {
			names, ok := packages[m[1]]
			if !ok || strings.HasPrefix(m[2], "Test") { // TestSecurityPage checks the tests
				continue
			}
			checked++
			if !names[m[2]] {
				t.Errorf("%s names %s.%s, which does not exist", page, m[1], m[2])
			}
		}
	}
	if checked == 0 {
		t.Error("found no Go name in the documents")
	}
}

// statisticName is an exported name in a cell of the tables of docs/statistics.md.
var statisticName = regexp.MustCompile("`((?:Row\\.)?[A-Z][A-Za-z0-9]+)`")

func TestDocStatistics(t *testing.T) {
	names := declaredIn(t, os.DirFS("."), "evals/stats")
	checked := 0
	for line := range strings.Lines(read(t, "docs/statistics.md")) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, m := range statisticName.FindAllStringSubmatch(line, -1) {
			checked++
			if !names[m[1]] {
				t.Errorf("docs/statistics.md names %s, which package stats does not have", m[1])
			}
		}
	}
	if checked < 20 {
		t.Errorf("checked %d names in the tables", checked)
	}
}
