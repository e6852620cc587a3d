package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/looptape/looptape/internal/docpage"
)

// unpacked returns the files of a .tgz and their modes.
func unpacked(t *testing.T, data []byte) (contents, modes map[string]string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	contents, modes = map[string]string{}, map[string]string{}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return contents, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		contents[h.Name], modes[h.Name] = string(text), h.FileInfo().Mode().String()
	}
}

func TestNPMPackages(t *testing.T) {
	b := &Build{Version: "v1.2.3-rc.1+dirty", Source: ".."}
	for _, p := range platforms {
		b.Binaries = append(b.Binaries, Binary{Platform: p, Data: []byte("binary of " + p.String()), Licenses: []file{{"LICENSE", 0o644, []byte("MIT")}}})
	}
	files, err := npmPackages(b)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]file{}
	for _, f := range files {
		packages[f.name] = f
	}
	type manifest struct {
		Name, Version         string
		OS, CPU               []string
		OptionalDependencies  map[string]string
		Dependencies, Scripts map[string]string
	}
	read := func(name string) (manifest, map[string]string, map[string]string) {
		contents, modes := unpacked(t, packages[name].data)
		var m manifest
		if err := json.Unmarshal([]byte(contents["package/package.json"]), &m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return m, contents, modes
	}
	m, contents, modes := read("npm/looptape-1.2.3-rc.1.tgz")
	names := slices.Sorted(maps.Keys(contents))
	want := []string{
		"LICENSE", "README.md", "bin/looptape.js", "binary.js", "index.d.ts", "index.js", "package.json", "unclosed.js", "vitest.d.ts", "vitest.js",
	}
	for i := range want {
		want[i] = "package/" + want[i]
	}
	if !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	if got := modes["package/bin/looptape.js"]; got != "-rwxr-xr-x" {
		t.Errorf("mode %s of the command", got)
	}
	if m.Version != "1.2.3-rc.1" || m.Dependencies != nil || m.Scripts != nil || len(m.OptionalDependencies) != len(platforms) {
		t.Errorf("package.json is %+v", m)
	}
	for name, p := range map[string]struct{ os, cpu, binary string }{
		"linux-x64":    {"linux", "x64", "looptape"},
		"linux-arm64":  {"linux", "arm64", "looptape"},
		"darwin-x64":   {"darwin", "x64", "looptape"},
		"darwin-arm64": {"darwin", "arm64", "looptape"},
		"win32-x64":    {"win32", "x64", "looptape.exe"},
		"win32-arm64":  {"win32", "arm64", "looptape.exe"},
	} {
		if got := m.OptionalDependencies["@looptape/"+name]; got != m.Version {
			t.Errorf("looptape needs version %q of %s", got, name)
		}
		m, contents, modes := read("npm/looptape-" + name + "-1.2.3-rc.1.tgz")
		if m.Name != "@looptape/"+name || m.Version != "1.2.3-rc.1" || !slices.Equal(m.OS, []string{p.os}) || !slices.Equal(m.CPU, []string{p.cpu}) {
			t.Errorf("%s: package.json is %+v", name, m)
		}
		binary := "package/bin/" + p.binary
		if system, arch, _ := strings.Cut(strings.TrimPrefix(contents[binary], "binary of "), "/"); !strings.HasPrefix(p.os, system[:3]) || arch[:3] == "arm" != (p.cpu == "arm64") || modes[binary] != "-rwxr-xr-x" {
			t.Errorf("%s: the binary is %q with mode %s", name, contents[binary], modes[binary])
		}
		if contents["package/LICENSE"] != "MIT" {
			t.Errorf("%s has no license", name)
		}
	}
}

// hostBuild returns a build for this machine alone.
func hostBuild(t *testing.T) *Build {
	t.Helper()
	here := Platform{runtime.GOOS, runtime.GOARCH}
	path := filepath.Join(t.TempDir(), here.Executable())
	// With other flags, such as those of a release, all packages are compiled again.
	c := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./cmd/looptape")
	c.Dir = ".."
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Build{Version: "v1.2.3", Source: "..", Binaries: []Binary{{Platform: here, Data: data}}}
}

// maxPackage is the largest size of a package with a binary.
const maxPackage = 10_000_000

// maxDemo is the longest time from the packages to the end of the demo, which takes 2 to 3 seconds.
const maxDemo = 5 * time.Second

// maxPage is the longest time for all steps of a page, and maxLines the largest number of lines that a reader
// writes up to the first failing test: an agent, a scenario and a test.
const (
	maxPage  = time.Minute
	maxLines = 15
)

// npm has the packages of this machine.
type npm struct {
	modules  string   // node_modules with the SDKs, vitest and TypeScript
	tarballs []string // of this platform, and looptape
	env      []string
	used     time.Duration // of a processor by run, which does not depend on the other tests
}

// newNPM packs the packages. The test is skipped without Node or the packages of conformance/npm, or fails if
// LOOPTAPE_NPM is set.
func newNPM(t *testing.T) *npm {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("LOOPTAPE_NPM") != "" {
		skip = t.Fatalf
	}
	modules, err := filepath.Abs(filepath.Join("..", "conformance", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		skip("missing command npm: install Node.js 20 or later")
	}
	if _, err := os.Stat(filepath.Join(modules, "typescript")); err != nil {
		skip("the packages from npm are not installed: run npm ci in conformance/npm")
	}
	b := hostBuild(t)
	for _, p := range platforms {
		if p != b.Binaries[0].Platform {
			b.Binaries = append(b.Binaries, Binary{Platform: p}) // npm must not need it
		}
	}
	files, err := npmPackages(b)
	if err != nil {
		t.Fatal(err)
	}
	n := &npm{modules: modules}
	packages := t.TempDir()
	for _, f := range []file{files[0], files[len(files)-1]} {
		path := filepath.Join(packages, filepath.Base(f.name))
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			t.Fatal(err)
		}
		n.tarballs = append(n.tarballs, path)
		t.Logf("%s: %.1f MB", f.name, float64(len(f.data))/1e6)
		if len(f.data) > maxPackage {
			t.Errorf("%s has %d bytes, want at most %d", f.name, len(f.data), maxPackage)
		}
	}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "LOOPTAPE_") && !strings.HasPrefix(variable, "NODE_") {
			n.env = append(n.env, variable)
		}
	}
	n.env = append(n.env, "npm_config_cache="+t.TempDir(), "npm_config_offline=true", "npm_config_audit=false", "npm_config_fund=false",
		"npm_config_ignore_scripts=true", "npm_config_update_notifier=false", "NO_COLOR=1", "CI=1")
	return n
}

// run runs a command and returns its exit status and what it printed.
func (n *npm) run(t *testing.T, dir, name string, args ...string) (status int, printed string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, n.env
	out, err := c.CombinedOutput()
	n.used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// must is run for a command that succeeds.
func (n *npm) must(t *testing.T, dir, name string, args ...string) (printed string) {
	t.Helper()
	status, printed := n.run(t, dir, name, args...)
	if status != 0 {
		t.Fatalf("%s %q: exit status %d\n%s", name, args, status, printed)
	}
	return printed
}

// start starts Node and returns its output.
func (n *npm) start(t *testing.T, dir string, args ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Dir, c.Env = dir, n.env
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, out
}

// folder returns an empty folder. A folder above has the SDKs.
func (n *npm) folder(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "project")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(n.modules, filepath.Join(parent, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// install installs the packages into a folder.
func (n *npm) install(t *testing.T, dir string) {
	t.Helper()
	n.must(t, dir, "npm", append([]string{"install", "--prefix", ".", "--save-dev"}, n.tarballs...)...) // not into the folder above
}

func TestNPM(t *testing.T) {
	n := newNPM(t)
	t.Run("demo", n.demo)
	t.Run("missing binary", n.missing)
	t.Run("page", n.page)
	t.Run("init", n.init)
	dir := n.folder(t)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "npm"))); err != nil {
		t.Fatal(err)
	}
	n.install(t, dir)
	t.Run("module", func(t *testing.T) { t.Log(n.must(t, dir, "node", "--test", "--test-reporter=dot", "module.test.mjs")) })
	t.Run("SDKs", func(t *testing.T) { t.Log(n.must(t, dir, "node", "--test", "--test-reporter=dot", "sdks.test.mjs")) })
	t.Run("types", func(t *testing.T) {
		for _, module := range []string{"nodenext", "node16"} {
			n.must(t, dir, "npx", "tsc", "--noEmit", "--strict", "--module", module, "--target", "es2022", "--skipLibCheck", "false", "--types", "node", "types.mts", "commonjs.cts")
		}
	})
	for _, pool := range []string{"forks", "threads", "vmForks", "vmThreads"} {
		t.Run("vitest, "+pool, func(t *testing.T) { n.vitest(t, dir, pool) })
	}
	t.Run("command", func(t *testing.T) { n.command(t, dir) })
	t.Run("killed", func(t *testing.T) { n.killed(t, dir) })
}

// demo runs the demo in an empty folder.
func (n *npm) demo(t *testing.T) {
	dir := t.TempDir()
	n.used = 0
	n.install(t, dir)
	printed := n.must(t, dir, "npx", "looptape", "demo")
	t.Logf("from the packages to the end of the demo: %v of a processor", n.used)
	if n.used > maxDemo {
		t.Errorf("npm install and the demo used %v of a processor, want at most %v", n.used, maxDemo)
	}
	if !strings.Contains(printed, "with 0 false alarms") {
		t.Errorf("the demo printed %s", printed)
	}
}

// page follows docs/javascript.md in an empty folder.
func (n *npm) page(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "javascript.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := n.folder(t)
	n.used = 0
	lines, tested, printed := 0, false, ""
	for _, b := range docpage.Blocks(string(page)) {
		switch {
		case b.Lang == "sh":
			for line := range strings.Lines(b.Text) {
				command, want := strings.TrimSpace(line), 0
				if command == "npx vitest run" && !tested {
					tested, want = true, 1
				}
				printed = n.step(t, dir, command, want)
			}
		case b.File != "":
			for line := range strings.Lines(b.Text) {
				if !tested && strings.TrimSpace(line) != "" {
					lines++
				}
			}
			if err := os.WriteFile(filepath.Join(dir, b.File), []byte(b.Text), 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			rest := printed
			for line := range strings.Lines(strings.ReplaceAll(b.Text, "…\n", "")) {
				var ok bool
				if _, rest, ok = strings.Cut(rest, strings.TrimSpace(line)); !ok {
					t.Fatalf("the test did not print %q here:\n%s", line, printed)
				}
			}
		}
	}
	n.must(t, dir, "npx", "vitest", "run")
	t.Logf("%d lines of the reader, all steps: %v of a processor", lines, n.used)
	if n.used > maxPage {
		t.Errorf("the steps of the page used %v of a processor, want at most %v", n.used, maxPage)
	}
	if lines > maxLines || !tested {
		t.Errorf("the reader writes %d lines up to the first test, want at most %d", lines, maxLines)
	}
}

// step runs a command of the page, which must have the exit status want.
func (n *npm) step(t *testing.T, dir, command string, want int) (printed string) {
	if strings.HasPrefix(command, "npm install ") {
		n.install(t, dir)
		return ""
	}
	run := []string{"sh", "-c", command}
	if strings.HasPrefix(command, "RECORD=") { // from a scripted provider
		run = append([]string{"npx", "looptape", "serve", "weather.yaml", "--"}, run...)
	}
	status, printed := n.run(t, dir, run[0], run[1:]...)
	if status != want {
		t.Errorf("%s: exit status %d, want %d:\n%s", command, status, want, printed)
	}
	return printed
}

// init runs the tests that looptape init writes.
func (n *npm) init(t *testing.T) {
	dir := n.folder(t)
	n.install(t, dir) // it writes package.json
	n.must(t, dir, "npx", "looptape", "init", "--yes")
	if printed := n.must(t, dir, "npx", "vitest", "run", "looptape-tests"); !strings.Contains(printed, "Tests  2 passed") {
		t.Errorf("the tests printed %s", printed)
	}
	n.must(t, dir, "npx", "tsc", "--noEmit", "--allowJs", "--checkJs", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node",
		filepath.Join("looptape-tests", "looptape.test.mjs"))
}

// missing runs the command without the package for the platform, and on a platform that has none.
func (n *npm) missing(t *testing.T) {
	dir := t.TempDir()
	n.must(t, dir, "npm", "install", n.tarballs[1])
	status, printed := n.run(t, dir, "npx", "looptape", "demo")
	if want := "which has the binary, is not installed. Install looptape again with optional dependencies"; status != 2 || !strings.Contains(printed, want) {
		t.Errorf("exit status %d, want 2; want %q in the output:\n%s", status, want, printed)
	}
	const other = `Object.defineProperty(process, "arch", {value: "mips"}); await (await import("looptape")).serve("x.yaml")`
	status, printed = n.run(t, dir, "node", "--input-type=module", "-e", other)
	if want := "-mips: the packages are @looptape/"; status != 1 || !strings.Contains(printed, want) {
		t.Errorf("exit status %d, want 1; want %q in the output:\n%s", status, want, printed)
	}
}

// vitest runs the tests: of the tests and files, those with the name "fails" fail, also those that do not close a server, and no
// server outlives them.
func (n *npm) vitest(t *testing.T, dir, pool string) {
	status, printed := n.run(t, dir, "npx", "vitest", "run", "--dir", "vitest", "--pool", pool, "--reporter", "default",
		"--reporter", "json", "--outputFile.json", "results.json")
	results, err := os.ReadFile(filepath.Join(dir, "results.json"))
	var r struct {
		TestResults []struct {
			Name, Status     string
			AssertionResults []struct {
				Title, Status   string
				FailureMessages []string
			}
		}
	}
	if err = errors.Join(err, json.Unmarshal(results, &r)); err != nil || status != 1 || len(r.TestResults) != 4 {
		t.Fatalf("exit status %d, %d files, %v:\n%s", status, len(r.TestResults), err, printed)
	}
	tests := 0
	for _, file := range r.TestResults {
		name := filepath.Base(file.Name)
		if want := map[bool]string{false: "failed", true: "passed"}[name == "unclosed-passes.test.mjs"]; file.Status != want {
			t.Errorf("%s %s, want %s:\n%s", name, file.Status, want, printed)
		}
		for _, x := range file.AssertionResults {
			tests++
			if strings.HasPrefix(pool, "vm") && strings.HasPrefix(x.Title, "@google/genai: ") {
				continue // the SDK cannot send requests in these pools
			}
			_, want, _ := strings.Cut(x.Title, ": ")
			if got := strings.TrimSuffix(x.Status, "ed"); !strings.HasPrefix(cmp.Or(want, "passes"), strings.TrimSuffix(got, "s")) {
				t.Errorf("%s: %s %s: %q", name, x.Title, x.Status, x.FailureMessages)
			}
			if want == "fails" && !strings.Contains(strings.Join(x.FailureMessages, ""), "looptape") {
				t.Errorf("%s failed for another reason: %q", x.Title, x.FailureMessages)
			}
		}
	}
	if tests != 23 {
		t.Errorf("%d tests, want 23", tests)
	}
	for _, scenario := range []string{"in-beforeAll", "in-beforeEach", "in-test", "not-awaited", "in-concurrent-test"} {
		if want := "looptape serve " + scenario + ".yaml: exit status 1"; !strings.Contains(printed, want) {
			t.Errorf("no test file failed with %q:\n%s", want, printed)
		}
	}
	if left := processes(t, dir); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// processes returns the command lines of the processes of the binary in a project. It knows only those of Linux.
func processes(t *testing.T, dir string) (lines []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && bytes.HasPrefix(line, []byte(filepath.Join(dir, "node_modules", "@looptape"))) {
			lines = append(lines, string(line))
		}
	}
	return lines
}

// command checks that the exit status and signals pass through the program of the package.
func (n *npm) command(t *testing.T, dir string) {
	if err := os.WriteFile(filepath.Join(dir, "empty.har"), []byte(`{"log":{"version":"1.2","entries":[]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[int][]string{
		0: {"check", "good.json"},
		1: {"serve", "weather.yaml", "--", "true"},
		2: {"serve", "none.yaml"},
		7: {"replay", "--allow-unused", "--upstream", "x=http://127.0.0.1:1", "empty.har", "--", "sh", "-c", "exit 7"},
	} {
		if status, printed := n.run(t, dir, "npx", append([]string{"looptape"}, args...)...); status != want {
			t.Errorf("looptape %q: exit status %d, want %d:\n%s", args, status, want, printed)
		}
	}
	// SIGTERM ends serve, which prints its report.
	c, out := n.start(t, dir, filepath.Join("node_modules", "looptape", "bin", "looptape.js"), "serve", "weather.yaml", "--format", "json")
	decoder := json.NewDecoder(out)
	var address, report struct{ Format string }
	if err := decoder.Decode(&address); err != nil {
		t.Error(err)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := decoder.Decode(&report); err != nil || address.Format != "looptape-serve-address" || report.Format != "looptape-serve" {
		t.Errorf("got %q and %q, %v; want an address and a report", address.Format, report.Format, err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit status 1", err)
	}
	// A signal that ends the binary ends the program.
	program := filepath.Join(dir, "killed.sh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nkill -KILL $$\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	c = exec.CommandContext(t.Context(), "node", filepath.Join("node_modules", "looptape", "bin", "looptape.js"))
	c.Dir, c.Env = dir, append(slices.Clone(n.env), "LOOPTAPE_BINARY="+program)
	if err := c.Run(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("ended with %v, want signal: killed", err)
	}
}

// killed kills Node while it has a server, which then ends.
func (n *npm) killed(t *testing.T, dir string) {
	const program = `import { serve } from "looptape"; console.log((await serve("weather.yaml")).url); setInterval(() => {}, 1000)`
	c, out := n.start(t, dir, "--input-type=module", "-e", program)
	var line [200]byte
	size, err := out.Read(line[:])
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(strings.TrimSpace(string(line[:size])))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	if len(processes(t, dir)) != 1 && runtime.GOOS == "linux" {
		t.Error("the process of the server was not found")
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	// A server that continues ends the connection, too, but accepts another one.
	if size, err := conn.Read(line[:]); err == nil {
		t.Errorf("read %q", line[:size])
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at.Host); err == nil {
		t.Error("the server did not end with Node")
	}
}
