// Package secrets has gitleaks read the recordings of generated secrets.
package secrets

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"
)

var secrets = flag.Int("secrets", 336, "how many generated secrets are recorded")

// The rules of gitleaks find no secret in the recordings that the tests of package cassettes write, but
// find some in a file with secrets.
func TestGitleaksFindsNothing(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "test", "-count=1", "-run", "^Test(GeneratedSecrets|TellingNames|PlantedSecrets)$", ".", "-secrets", strconv.Itoa(*secrets), "-secrets-dir", dir)
	cmd.Dir = filepath.Join("..", "..", "cassettes")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the tests of package cassettes: %v\n%s", err, out)
	}
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	if found := d.DetectString("the key ghp_q7Xz92LmPa8Kd31RZk3v9QmT7sLb2XwYc8Rp is here\n"); len(found) != 1 {
		t.Errorf("gitleaks finds %d secrets in a text with one", len(found))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range d.DetectString(string(text)) {
			t.Errorf("%s: %s finds %q in %q", filepath.Base(path), f.RuleID, f.Secret, f.Line)
		}
	}
	t.Logf("gitleaks read %d files", len(files))
	if len(files) < 100 {
		t.Errorf("%d files, want at least 100", len(files))
	}
}
