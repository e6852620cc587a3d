//go:build linux

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The action of the repository finds the archive of each platform, its checksum and its binary.
func TestActionInstallsArchives(t *testing.T) {
	b := &Build{Version: "v1.2.3"}
	for _, p := range platforms {
		b.Binaries = append(b.Binaries, Binary{Platform: p, Data: []byte("#!/bin/sh\necho looptape " + p.String() + " $1\n"), Licenses: []file{{"LICENSE", 0o644, []byte("MIT")}}})
	}
	b.Docs = []file{{"completions/looptape", 0o644, []byte("another file")}}
	files, err := archives(b)
	if err != nil {
		t.Fatal(err)
	}
	released := map[string][]byte{}
	for _, f := range append(files, sums(files)) {
		released["/v1.2.3/"+f.name] = f.data
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, ok := released[r.URL.Path]; ok {
			_, _ = w.Write(data) // the client may be gone
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	for p, c := range map[Platform]struct{ os, arch, want string }{
		{"linux", "amd64"}: {"Linux", "X64", "looptape linux/amd64 --version"}, {"linux", "arm64"}: {"Linux", "ARM64", "looptape linux/arm64 --version"},
		{"darwin", "amd64"}: {"macOS", "X64", "looptape darwin/amd64 --version"}, {"darwin", "arm64"}: {"macOS", "ARM64", "looptape darwin/arm64 --version"},
		// tar of this machine does not read the archive, which has its checksum.
		{"windows", "amd64"}: {"Windows", "X64", "looptape_1.2.3_windows_amd64.zip is not an archive that tar can read"},
		{"windows", "arm64"}: {"Windows", "ARM64", "looptape_1.2.3_windows_arm64.zip is not an archive that tar can read"},
	} {
		temp := t.TempDir()
		system := filepath.Join(temp, "System32")
		tar, err := exec.LookPath("tar")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(system, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(tar, filepath.Join(system, "tar.exe")); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", filepath.Join("..", ".github", "action", "install.sh"))
		cmd.Env = append(os.Environ(), "INPUT_VERSION=v1.2.3", "INPUT_REF=", "INPUT_URL=", "INPUT_SHA256=", "LOOPTAPE_RELEASES="+server.URL, "LOOPTAPE_RETRIES=0",
			"RUNNER_OS="+c.os, "RUNNER_ARCH="+c.arch, "RUNNER_TEMP="+temp, "SYSTEMROOT="+temp, "GITHUB_PATH="+filepath.Join(temp, "path"), "GITHUB_OUTPUT="+filepath.Join(temp, "output"))
		out, err := cmd.CombinedOutput()
		if (err == nil) != (p.OS != "windows") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %q:\n%s", p, err, c.want, out)
		}
	}
}
