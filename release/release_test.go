package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// do runs a program in a folder and returns its output.
func do(t *testing.T, dir, name string, arguments ...string) string {
	t.Helper()
	out, err := command(t.Context(), dir, os.Environ(), name, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// cloned returns a clone of this repository, at its commit with the tag v0.9.0-rc.1, in a new folder.
func cloned(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "..", dir).Run(); err != nil {
		t.Skipf("the release is not tested, because git does not clone this repository: %v", err)
	}
	do(t, dir, "git", "tag", "v0.9.0-rc.1")
	return dir
}

// folder returns the contents of the files in a folder.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Two releases of one commit are equal byte for byte: their clones have other paths, and the second build has other
// settings, variables and an older release in its folder. With LOOPTAPE_RELEASE=all, the test builds all platforms,
// and the second time from an empty build cache; otherwise Go reuses what it compiled for the first.
func TestReleaseRepeats(t *testing.T) {
	chosen := []Platform{{"linux", "amd64"}}
	all := os.Getenv("LOOPTAPE_RELEASE") == "all"
	if testing.Short() && !all {
		t.Skip("with -short: it compiles all packages with the flags of a release")
	}
	if all {
		chosen = platforms
	}
	o := options{repository: cloned(t, "one"), out: filepath.Join(t.TempDir(), "dist"), platforms: chosen, version: "v0.9.0-rc.1"}
	var printed bytes.Buffer
	if err := run(t.Context(), o, &printed); err != nil {
		t.Fatal(err)
	}
	first := folder(t, o.out)

	for name, value := range map[string]string{
		"GOFLAGS": "-tags=another -buildvcs=false", "GOARCH": "386", "GOAMD64": "v3", "CGO_ENABLED": "1", "GODEBUG": "panicnil=1",
		"TZ": "Asia/Tokyo", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1", "GIT_DIR": "none",
	} {
		t.Setenv(name, value)
	}
	if all {
		cache := t.TempDir()
		t.Setenv("GOCACHE", cache)
	}
	o.repository = filepath.Join(clonedWithout(t, "GIT_DIR", "another folder/two"), "release")
	o.out = filepath.Join(t.TempDir(), "folder of releases", "dist")
	if err := replaceFolder(o.out, []file{{"old.tar.gz", 0o600, nil}, sums([]file{{name: "old.tar.gz"}})}); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o, io.Discard); err != nil {
		t.Fatal(err)
	}
	second := folder(t, o.out)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second))); diff != "" {
		t.Errorf("files of two releases (-first +second):\n%s", diff)
	}
	for name := range first {
		if first[name] != second[name] {
			t.Errorf("%s differs between two releases", name)
		}
	}

	if printed.String() != first[sumsName] {
		t.Errorf("printed %s\nwant SHA256SUMS", printed.String())
	}
	for line := range strings.Lines(first[sumsName]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if data, ok := first[name]; !ok || sum != fmt.Sprintf("%x", sha256.Sum256([]byte(data))) {
			t.Errorf("SHA256SUMS has a wrong line %q", line)
		}
	}
	if got, want := strings.Count(first[sumsName], "\n"), len(first)-1; got != want {
		t.Errorf("SHA256SUMS has %d lines, want %d", got, want)
	}
	for _, p := range chosen {
		checkArchive(t, p, first)
	}
}

// clonedWithout is cloned without a variable of the environment.
func clonedWithout(t *testing.T, variable, name string) string {
	t.Helper()
	value := os.Getenv(variable)
	if err := os.Unsetenv(variable); err != nil {
		t.Fatal(err)
	}
	defer t.Setenv(variable, value)
	return cloned(t, name)
}

// checkArchive checks what the archive for a platform contains. It runs the binary if it is for this platform.
func checkArchive(t *testing.T, p Platform, packages map[string]string) {
	t.Helper()
	name := "looptape_0.9.0-rc.1_" + p.OS + "_" + p.Arch
	contents := map[string]string{}
	if p.OS == "windows" {
		archive, err := zip.NewReader(strings.NewReader(packages[name+".zip"]), int64(len(packages[name+".zip"])))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			data, err := fs.ReadFile(archive, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			contents[f.Name] = string(data)
		}
	} else {
		contents, _ = unpacked(t, []byte(packages[name+".tar.gz"]))
	}
	binary := contents[name+"/"+p.Executable()]
	t.Logf("%s: the binary has %d bytes, the archive %d", p, len(binary), len(packages[name+".tar.gz"])+len(packages[name+".zip"]))
	info, err := buildinfo.Read(strings.NewReader(binary))
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	if info.Main.Version != "v0.9.0-rc.1" {
		t.Errorf("%s: the version is %s, want the tag", p, info.Main.Version)
	}
	modules := map[string]bool{"go": true}
	for _, m := range info.Deps {
		modules[m.Path] = true
	}
	licensed := map[string]bool{}
	for file := range contents {
		folder, ok := strings.CutPrefix(path.Dir(file), name+"/licenses/")
		for ; ok && folder != "." && !modules[folder]; folder = path.Dir(folder) {
		}
		if ok {
			licensed[folder] = true
		}
	}
	if diff := cmp.Diff(modules, licensed); diff != "" {
		t.Errorf("%s: modules with licenses (-in the binary +in the archive):\n%s", p, diff)
	}
	for _, file := range []string{"LICENSE", "completions/looptape.bash", "completions/_looptape", "completions/looptape.fish", "completions/looptape.ps1", "man/man1/looptape.1", "man/man1/looptape-eval-gate.1"} {
		if contents[name+"/"+file] == "" {
			t.Errorf("%s: the archive has no %s", p, file)
		}
	}
	if p.OS != runtime.GOOS || p.Arch != runtime.GOARCH {
		return
	}
	program := filepath.Join(t.TempDir(), p.Executable())
	if err := os.WriteFile(program, []byte(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := do(t, ".", program, "--version"), "looptape version v0.9.0-rc.1 "; !strings.HasPrefix(got, want) {
		t.Errorf("--version: got %q, want %q…", got, want)
	}
	do(t, ".", program, "demo")
}

// repository makes a repository with a commit of a file.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	do(t, dir, "git", "init", "--quiet")
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, dir, "git", "add", "a")
	do(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "a")
	return dir
}

// Before it builds anything, the command refuses a source without a certain version, and a folder with other files.
func TestReleaseRefuses(t *testing.T) {
	changed, untracked, clean := repository(t), repository(t), repository(t)
	for _, name := range []string{filepath.Join(changed, "a"), filepath.Join(untracked, "b c")} {
		if err := os.WriteFile(name, []byte("b"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shallow := filepath.Join(t.TempDir(), "shallow")
	do(t, clean, "git", "clone", "--quiet", "--depth=1", "file://"+filepath.ToSlash(clean), shallow)
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, "thesis"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]options{
		"differs from the commit: commit or remove these files, or build with -allow-dirty:\n M a": {repository: changed},
		`-allow-dirty:` + "\n" + `?? "b c"`:      {repository: untracked},
		"shallow":                                {repository: shallow},
		"not a git repository":                   {repository: t.TempDir()},
		`has a file of something else, "thesis"`: {repository: clean, out: occupied},
		"is not a folder":                        {repository: clean, out: filepath.Join(occupied, "thesis")},
	} {
		if o.out == "" {
			o.out = filepath.Join(t.TempDir(), "dist")
		}
		if err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if _, err := os.Stat(o.out); err == nil && !strings.Contains(want, "folder") && !strings.Contains(want, "thesis") {
			t.Errorf("the refused release wrote %s", o.out)
		}
	}
	for want, arguments := range map[string][]string{
		`unknown platform "linux/386": want some of darwin/amd64,`: {"-platforms", "linux/amd64,linux/386"},
		`unexpected argument "dist"`:                               {"dist"},
	} {
		if _, err := parse(arguments, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", arguments, err, want)
		}
	}
}

// An interrupted release leaves the earlier one as it was.
func TestReleaseInterrupted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dist")
	old := []file{{"npm/a.tgz", 0o644, []byte("a")}}
	if err := replaceFolder(out, append(old, sums(old))); err != nil {
		t.Fatal(err)
	}
	before := folder(t, out)
	if err := os.MkdirAll(filepath.Join(out+".partial", "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out+".partial", "npm", "half"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, options{repository: "..", out: out}, io.Discard); err == nil {
		t.Error("got no error of a canceled release")
	}
	if diff := cmp.Diff(before, folder(t, out)); diff != "" {
		t.Errorf("a canceled release changed the folder (-before +after):\n%s", diff)
	}
	fresh := []file{{"b.tgz", 0o644, []byte("b")}}
	fresh = append(fresh, sums(fresh))
	if err := checkOut(out); err != nil {
		t.Error(err)
	}
	if err := replaceFolder(out, fresh); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(folder(t, out))); !slices.Equal(got, []string{sumsName, "b.tgz"}) {
		t.Errorf("got the files %q, want those of the new release", got)
	}
}

// The bytes of an archive do not depend on the order of the files, and it has no time and owner of this machine.
func TestArchives(t *testing.T) {
	files := []file{{"b/run", 0o755, []byte("b")}, {"a", 0o644, bytes.Repeat([]byte("a"), 1000)}}
	other := []file{files[1], files[0]}
	for name, write := range map[string]func(io.Writer, []file) error{"tar.gz": tarGz, "zip": zipFile} {
		var one, two bytes.Buffer
		if err := write(&one, files); err != nil {
			t.Fatal(err)
		}
		if err := write(&two, other); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s depends on the order of the files", name)
		}
		if name == "tar.gz" {
			contents, modes := unpacked(t, one.Bytes())
			if contents["b/run"] != "b" || modes["b/run"] != "-rwxr-xr-x" || modes["a"] != "-rw-r--r--" {
				t.Errorf("%s: got %q with the modes %q", name, contents, modes)
			}
			continue
		}
		z, err := zip.NewReader(bytes.NewReader(one.Bytes()), int64(one.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range z.File {
			data, err := fs.ReadFile(z, f.Name)
			if err != nil || string(data) != string(other[i].data) || f.Mode() != other[i].mode || !f.Modified.Equal(modified) {
				t.Errorf("%s: got %s with %d bytes, mode %s, time %s, %v", name, f.Name, len(data), f.Mode(), f.Modified, err)
			}
		}
	}
}

// inspect accepts only static or system libraries, no symbols, and the platform of the name.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module a\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compile := func(p Platform, flags ...string) []byte {
		path := filepath.Join(dir, "out")
		env := append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch)
		if _, err := command(t.Context(), dir, env, "go", append(append([]string{"build", "-trimpath", "-o", path}, flags...), ".")...); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	linux := Platform{"linux", "amd64"}
	for _, c := range []struct {
		name   string
		p      Platform
		data   []byte
		change func(settings map[string]string)
		want   string
	}{
		{name: "linux", p: linux, data: compile(linux, "-ldflags=-s -w")},
		{name: "darwin", p: Platform{"darwin", "arm64"}, data: compile(Platform{"darwin", "arm64"}, "-ldflags=-s -w")},
		{name: "windows", p: Platform{"windows", "amd64"}, data: compile(Platform{"windows", "amd64"}, "-ldflags=-s -w")},
		{name: "not stripped", p: linux, data: compile(linux), want: "not stripped"},
		{name: "with an interpreter", p: linux, data: compile(linux, "-buildmode=pie", "-ldflags=-s -w"), want: "not static"},
		{name: "another platform", p: Platform{"linux", "arm64"}, data: compile(linux, "-ldflags=-s -w"), want: `GOARCH is "amd64", want "arm64"`},
		{name: "another format", p: Platform{"darwin", "amd64"}, data: compile(linux, "-ldflags=-s -w"),
			change: func(s map[string]string) { s["GOOS"] = "darwin" }, want: "invalid magic number"},
		{name: "too large", p: linux, data: make([]byte, maxBinary+1), want: "more than"},
	} {
		info, err := buildinfo.Read(bytes.NewReader(c.data))
		if err != nil && c.want != "more than" {
			t.Fatal(err)
		}
		if c.change != nil {
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			c.change(settings)
			for i, s := range info.Settings {
				info.Settings[i].Value = settings[s.Key]
			}
		}
		err = inspect(c.p, c.data, info)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// All commands have a manual page, and its date is that of the commit. Bash can read its completions.
func TestDocs(t *testing.T) {
	files, err := docs("v1.2.3", time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch {
		case f.name == "completions/looptape.bash":
			c := exec.CommandContext(t.Context(), "bash", "-n")
			c.Stdin = bytes.NewReader(f.data)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", f.name, err, out)
			}
		case strings.HasPrefix(f.name, "man/"):
			name := strings.TrimSuffix(path.Base(f.name), ".1")
			if want := fmt.Sprintf(".TH %q \"1\" \"Feb 2001\" \"looptape v1.2.3\" \"looptape\"", strings.ToUpper(name)); !strings.Contains(string(f.data), want) {
				t.Errorf("%s begins with %.100s, want %s", f.name, f.data, want)
			}
		}
	}
	for _, name := range []string{"looptape", "looptape-check", "looptape-serve", "looptape-eval", "looptape-eval-gate"} {
		if !slices.ContainsFunc(files, func(f file) bool { return f.name == "man/man1/"+name+".1" }) {
			t.Errorf("%s has no manual page", name)
		}
	}
}

// The licenses of a package, and of the folders above it, are copied; other files and folders are not.
func TestLicensesIn(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"LICENSE", "notice.txt", "license_test.go", "README", "a/COPYING", "a/b/code.go", "c/LICENSE", "THIRD_PARTY_LICENSES/x"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := licensesIn("licenses/m", root, []string{filepath.Join(root, "a", "b"), filepath.Join(root, "a"), root})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range sorted(files) {
		names = append(names, f.name)
	}
	want := []string{"licenses/m/LICENSE", "licenses/m/THIRD_PARTY_LICENSES/x", "licenses/m/a/COPYING", "licenses/m/notice.txt"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
