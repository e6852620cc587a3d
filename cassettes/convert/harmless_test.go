package convert_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// harmlessSets are the folders of recordings, and their number of interactions.
var harmlessSets = map[string]int{
	"fantasy-cassettes": 534, "pydantic-ai-cassettes": 515, "openinference-cassettes": 86, "logfire-cassettes": 16, "go-vcr": 18, "other-recorders": 9, "adk-go-httprr": 126,
}

// Of 1000 interactions recorded by other projects, the redaction changes at most one without a secret,
// and so does the scan. The secrets in them are known by their places.
func TestRecordedHasFewFalseAlarms(t *testing.T) {
	total, altered := 0, 0
	for _, folder := range slices.Sorted(maps.Keys(harmlessSets)) {
		n, wrong := falseAlarms(t, data(t, folder))
		if n != harmlessSets[folder] {
			t.Errorf("%s: %d interactions, want %d", folder, n, harmlessSets[folder])
		}
		total, altered = total+n, altered+wrong
	}
	if dir := moduleDir(t, "charm.land/fantasy@v0.3.0"); dir != "" {
		n, wrong := falseAlarms(t, filepath.Join(dir, "providertests", "testdata"))
		total, altered = total+n, altered+wrong
	}
	t.Logf("%d interactions, %d refused or altered", total, altered)
	if altered*1000 > total {
		t.Errorf("%d of %d interactions are refused or altered for no secret, want at most 1 in 1000", altered, total)
	}
}

// moduleDir returns the folder of a module in the cache, or the empty string.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(string(bytes.TrimSpace(out)), filepath.FromSlash(module))
	if _, err := os.Stat(dir); err != nil {
		t.Logf("%s is not in the module cache, so its recordings are not read", module)
		return ""
	}
	return dir
}

// falseAlarms returns the number of interactions in a folder, and how many of them the redaction or the
// scan changes wrongly.
func falseAlarms(t *testing.T, root string) (n, wrong int) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "golden.json" {
			return err
		}
		list, err := convert.Parse(path, unzipped(t, path))
		if err != nil {
			return nil //nolint:nilerr // TestRecorded counts them
		}
		memory := redact.NewMemory(&redact.Rules{})
		for i, x := range list.Interactions {
			n++
			clean := memory.Redacted(x)
			places := changes(x, clean)
			for _, s := range memory.FindSecrets(clean) {
				places = append(places, s.String())
			}
			places = slices.DeleteFunc(places, knownSecrets.MatchString)
			if len(places) > 0 {
				wrong++
				name, _ := filepath.Rel(root, path)
				t.Logf("%s, interaction %d: %s", name, i+1, strings.Join(places, "; "))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, wrong
}

// knownSecrets matches the places of secrets in the recordings.
var knownSecrets = regexp.MustCompile(`header (?:Cookie|Set-Cookie|Authorization):|api_key\\": \\"\[|Authorization\\": \\"Bearer \[|a=ice-pwd:\[`)

// changes returns the places that the redaction changed.
func changes(was, is *recording.Interaction) (places []string) {
	if was.Request.URL != is.Request.URL {
		places = append(places, "URL "+is.Request.URL)
	}
	for side, h := range map[string][2]http.Header{"request": {was.Request.Header, is.Request.Header}, "response": {was.Response.Header, is.Response.Header}} {
		for _, name := range slices.Sorted(maps.Keys(h[0])) {
			if name != "Content-Length" && !slices.Equal(h[0][name], h[1][name]) {
				places = append(places, fmt.Sprintf("%s header %s: %.80q, was %.80q", side, name, h[1][name], h[0][name]))
			}
		}
	}
	for side, b := range map[string][2][]byte{"request": {was.Request.Body, is.Request.Body}, "response": {was.Response.Body, is.Response.Body}} {
		if !bytes.Equal(b[0], b[1]) {
			at := 0
			for at < len(b[0]) && at < len(b[1]) && b[0][at] == b[1][at] {
				at++
			}
			places = append(places, fmt.Sprintf("%s body: …%q, was …%q", side, b[1][max(0, at-80):min(len(b[1]), at+60)], b[0][max(0, at-20):min(len(b[0]), at+60)]))
		}
	}
	return places
}
