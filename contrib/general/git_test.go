package general_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/contrib/general"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// git runs git in a folder, with fixed names and times.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return gitWith(t, dir, "", args...)
}

func gitWith(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no program git")
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// repo returns a repository with two files and one commit.
func repo(t *testing.T) (dir string) {
	t.Helper()
	dir = folder(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "b\n", "empty": ""})
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "the first commit")
	return dir
}

// content returns each file below a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		files[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// RA-60, RA-75 to RA-79: the tools show the repository, and change nothing in it.
func TestGit(t *testing.T) {
	dir := repo(t)
	made := tools(t, &general.Config{Dir: dir})
	check(
		t, made,
		row{"git_status", args{}, "branch: main\nnothing is changed\n"},
		row{"git_diff", args{}, "There are no unstaged changes."},
		row{"git_diff", args{"staged": true}, "There are no staged changes."},
	)
	write(t, dir, "a.txt", "one\n2\n")
	write(t, dir, "b.txt", "staged\n")
	git(t, dir, "add", "b.txt")
	git(t, dir, "tag", "v1")
	write(t, dir, "new é.txt", "new\n")
	before := content(t, dir)
	const unstaged = "diff --git a/a.txt b/a.txt\nindex 814f4a4..99b356d 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
	id := strings.TrimSpace(git(t, dir, "rev-parse", "--short", "HEAD"))
	check(
		t, made,
		row{"git_status", args{}, "branch: main\nmodified: a.txt\nstaged: modified: b.txt\nuntracked: \"new é.txt\"\n"},
		row{"git_diff", args{}, unstaged},
		row{"git_diff", args{"path": "a.txt"}, unstaged},
		row{"git_diff", args{"path": "b.txt"}, "There are no unstaged changes."},
		row{"git_diff", args{"staged": true}, "~-b\n+staged\n"},
		row{"git_diff", args{"staged": true, "path": "b.txt"}, "~-b\n+staged\n"},
		row{"git_diff", args{"staged": true, "path": "a.txt"}, "There are no staged changes."},
		row{"git_log", args{}, id + " 2026-01-02 A: the first commit\n"},
		row{"git_show", args{}, "~    the first commit\n\ndiff --git a/a.txt b/a.txt\n"},
		row{"git_show", args{"ref": "v1"}, "~    the first commit\n"},
		row{"git_show", args{"ref": "--output=x"}, `Error: "--output=x" is not the name of a commit`},
		row{"git_show", args{"ref": "nowhere"}, "~Error: git: fatal: "},
		row{"git_blame", args{"path": "b.txt"}, "~(Not Committed Yet"},
		row{"git_blame", args{"path": "empty"}, `"empty" is empty.`},
		row{"git_blame", args{"path": "none"}, `Error: there is no "none"`},
	)
	if diff := cmp.Diff(before, content(t, dir)); diff != "" {
		t.Errorf("the repository has changed (-before +after):\n%s", diff)
	}
	git(t, dir, "checkout", "-q", "-b", "other")
	git(t, dir, "commit", "-q", "-m", "the second commit")
	check(
		t, made,
		row{"git_status", args{}, "branch: other\nmodified: a.txt\nuntracked: \"new é.txt\"\n"},
		row{"git_show", args{}, "~    the second commit\n"},
		row{"git_show", args{"ref": "v1"}, "~    the first commit\n"},
		row{"git_show", args{"ref": "main"}, "~    the first commit\n"},
	)
	if err := os.Remove(filepath.Join(dir, "b.txt")); err != nil {
		t.Fatal(err)
	}
	check(t, made, row{"git_diff", args{"path": "b.txt"}, "~deleted file mode 100644\n"})
}

// RA-75: what git_status shows, and its error without a repository.
func TestGitStatus(t *testing.T) {
	g := goldie.New(t)
	for name, change := range map[string]func(dir string){
		"clean":     func(string) {},
		"modified":  func(dir string) { write(t, dir, "a.txt", "changed\n") },
		"staged":    func(dir string) { write(t, dir, "a.txt", "changed\n"); git(t, dir, "add", "a.txt") },
		"untracked": func(dir string) { write(t, dir, "new.txt", "new\n") },
	} {
		dir := repo(t)
		made := tools(t, &general.Config{Dir: dir})
		change(dir)
		g.Assert(t, "git_status_"+name, []byte(call(t, made, "git_status", args{})))
	}
	dir := repo(t)
	made := tools(t, &general.Config{Dir: dir})
	write(t, dir, "a.txt", "staged\n")
	git(t, dir, "add", "a.txt")
	write(t, dir, "a.txt", "changed again\n")
	if err := os.Remove(filepath.Join(dir, "b.txt")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "c.txt", "new\n")
	git(t, dir, "add", "c.txt")
	check(t, made, row{"git_status", args{}, "branch: main\nstaged: modified, modified: a.txt\ndeleted: b.txt\nstaged: added: c.txt\n"})
	git(t, dir, "add", "b.txt")
	check(t, made, row{"git_status", args{}, "branch: main\nstaged: modified, modified: a.txt\nstaged: deleted: b.txt\nstaged: added: c.txt\n"})
	git(t, dir, "reset", "-q", "--hard")
	git(t, dir, "mv", "a.txt", "moved.txt")
	check(t, made, row{"git_status", args{}, "branch: main\nstaged: renamed: a.txt -> moved.txt\n"})
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	check(t, made, row{"git_status", args{}, "Error: the working folder has no repository (.git)"})
}

// RA-75: git_status says what both sides of a merge did to each file with a conflict.
func TestGitStatusConflicts(t *testing.T) {
	lines := strings.Repeat("line\n", 20)
	dir := folder(t, map[string]string{"both": "1\n", "deleted-here": "1\n", "deleted-there": "1\n", "moved": lines, "split": "split\n" + lines})
	side := func(name string, files map[string]string, commands ...string) {
		for _, c := range commands {
			git(t, dir, strings.Fields(c)...)
		}
		for file, text := range files {
			write(t, dir, file, text)
		}
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-qm", name)
	}
	side("base", nil, "init -q -b main")
	side("theirs", map[string]string{"both": "2\n", "deleted-here": "2\n", "added": "2\n", "fine": "2\n", "moved": lines + "2\n"},
		"checkout -qb theirs", "rm -q deleted-there", "mv split split-there")
	side("ours", map[string]string{"both": "3\n", "deleted-there": "3\n", "added": "3\n", "moved-here": lines + "3\n"},
		"checkout -q main", "rm -q deleted-here", "mv moved moved-here", "mv split split-here")
	made := tools(t, &general.Config{Dir: dir})
	git(t, dir, "-c", "alias.try=!git merge -q theirs >/dev/null || true", "try")
	want := []string{"branch: main"}
	for line := range strings.Lines(git(t, dir, "status", "--porcelain=v2")) {
		f := strings.Fields(line)
		switch name := f[len(f)-1]; {
		case f[0] == "u": // its modes in the base, here and there
			want = append(want, "unmerged: "+sides[[3]bool{f[3] != "000000", f[4] != "000000", f[5] != "000000"}]+": "+name)
		case f[0] == "1" && f[1] == "A.":
			want = append(want, "staged: added: "+name)
		default:
			t.Fatalf("git reports %q", line)
		}
	}
	for _, what := range sides {
		if !slices.ContainsFunc(want, func(line string) bool { return strings.HasPrefix(line, "unmerged: "+what+": ") }) {
			t.Errorf("the merge has no file %s: %q", what, want)
		}
	}
	got := strings.Split(strings.TrimSuffix(call(t, made, "git_status", args{}), "\n"), "\n")
	slices.Sort(want)
	slices.Sort(got) // the forms of git have different orders
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("git_status (-want +got):\n%s", diff)
	}
}

// sides says what happened to a file that is or is not in the base, here and there.
var sides = map[[3]bool]string{
	{true, true, true}: "both modified", {false, true, true}: "both added", {true, false, false}: "both deleted",
	{true, false, true}: "deleted by us", {true, true, false}: "deleted by them", {false, true, false}: "added by us", {false, false, true}: "added by them",
}

// RA-60, RA-75: the tools work while another git has the lock of the index, and do not write the index, even
// if its times of files are old.
func TestGitTakesNoLock(t *testing.T) {
	dir := repo(t)
	if err := os.Chtimes(filepath.Join(dir, "a.txt"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	before := content(t, dir)
	made := tools(t, &general.Config{Dir: dir})
	rows := []row{
		{"git_status", args{}, "branch: main\nnothing is changed\n"},
		{"git_diff", args{}, "There are no unstaged changes."},
		{"git_log", args{}, "~the first commit"},
		{"git_show", args{}, "~the first commit"},
		{"git_blame", args{"path": "a.txt"}, "~two"},
	}
	check(t, made, rows...)
	if diff := cmp.Diff(before, content(t, dir)); diff != "" {
		t.Errorf("the repository has changed (-before +after):\n%s", diff)
	}
	write(t, dir, ".git/index.lock", "")
	check(t, made, rows...)
}

// RA-77: the number of commits.
func TestGitLog(t *testing.T) {
	dir := repo(t)
	for i := range 24 {
		git(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("commit ", i))
	}
	write(t, dir, "b.txt", "c\n")
	git(t, dir, "commit", "-qam", "the last commit")
	made := tools(t, &general.Config{Dir: dir})
	lines := func(a args) int { return strings.Count(call(t, made, "git_log", a), "\n") }
	for want, a := range map[int]args{20: {}, 3: {"count": 3}, 1: {"count": 0}, 26: {"count": 1000}, 2: {"path": "b.txt"}} {
		if got := lines(a); got != want {
			t.Errorf("%v: got %d lines, want %d", a, got, want)
		}
	}
	newest := regexp.MustCompile(`^[0-9a-f]+ \d{4}-\d\d-\d\d \w+: the last commit\n[0-9a-f]+ \d{4}-\d\d-\d\d \w+: commit 23\n$`)
	if got := call(t, made, "git_log", args{"count": 2}); !newest.MatchString(got) {
		t.Errorf("got %q, want the newest commits first", got)
	}
	const author = "A <a@example.org> 1767323045 +0000"
	more := "commit refs/heads/main\ncommitter " + author + "\ndata 4\nmore\nfrom refs/heads/main^0\n"
	for range 180 {
		more += "commit refs/heads/main\ncommitter " + author + "\ndata 4\nmore\n"
	}
	gitWith(t, dir, more, "fast-import", "--quiet")
	if got := lines(args{"count": 1000}); got != 200 {
		t.Errorf("got %d lines, want 200", got)
	}
}

// RA-78: a commit by several names; a name that looks like an option runs nothing.
func TestGitShow(t *testing.T) {
	dir := repo(t)
	write(t, dir, "b.txt", "c\n")
	git(t, dir, "commit", "-qam", "the second commit\n\nIt changes b.")
	git(t, dir, "tag", "v1", "HEAD~1")
	git(t, dir, "tag", "-a", "-m", "a note", "v2")
	made := tools(t, &general.Config{Dir: dir})
	const patch = "\n    the second commit\n    \n    It changes b.\n\ndiff --git a/b.txt b/b.txt\nindex 6178079..f2ad6c7 100644\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n"
	check(
		t, made,
		row{"git_show", args{}, "~" + patch},
		row{"git_show", args{"ref": "main"}, "~" + patch},
		row{"git_show", args{"ref": "v1"}, "~\n    the first commit\n\ndiff --git a/a.txt b/a.txt\n"},
		row{"git_show", args{"ref": "v2"}, "~\na note\n"},
		row{"git_show", args{"ref": "v2"}, "~" + patch},
		row{"git_show", args{"ref": "HEAD\n"}, "~is not the name of a commit"},
	)
	for _, ref := range []string{"--output=x", "-O/etc/passwd", "--no-index", "--", "-", "--ext-diff"} {
		check(t, made, row{"git_show", args{"ref": ref}, fmt.Sprintf("Error: %q is not the name of a commit", ref)})
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("git wrote a file")
	}
}

// RA-79: the commits of the lines of a file, also of lines that a commit only indents or moves.
func TestGitBlame(t *testing.T) {
	dir := repo(t)
	moved := "a line with many letters and digits, so that git can find it elsewhere\n"
	write(t, dir, "a.txt", "one\n2\nthree\n"+moved)
	git(t, dir, "commit", "-qam", "the second commit")
	write(t, dir, "a.txt", moved+"one\n2\n  three\n")
	git(t, dir, "commit", "-qam", "the third commit")
	write(t, dir, "a.txt", moved+"one\n2\n  three\nfour\n")
	made := tools(t, &general.Config{Dir: dir})
	got := call(t, made, "git_blame", args{"path": "a.txt"})
	got = regexp.MustCompile(`(Not Committed Yet) .* `).ReplaceAllString(got, "$1 (now) ") // the date
	goldie.New(t).Assert(t, "git_blame", []byte(got))
	check(
		t, made,
		row{"git_blame", args{"path": "empty"}, `"empty" is empty.`},
		row{"git_blame", args{"path": "none"}, `Error: there is no "none"`},
		row{"git_blame", args{"path": "."}, `Error: "." is not a file`},
		row{"git_blame", args{"path": "../a.txt"}, "~Error: "},
		row{"git_blame", args{"path": "/etc/passwd"}, "~Error: "},
	)
}

// The environment of this process does not change what git does.
func TestGitEnvironment(t *testing.T) {
	other := repo(t)
	write(t, other, "secret.txt", "secret\n")
	git(t, other, "add", ".")
	git(t, other, "commit", "-qm", "secret")
	dir := repo(t)
	write(t, dir, "a.txt", "changed\n")
	ran := filepath.Join(t.TempDir(), "ran")
	for key, value := range map[string]string{
		"GIT_DIR": other + "/.git", "GIT_WORK_TREE": other, "GIT_INDEX_FILE": other + "/.git/index", "GIT_OBJECT_DIRECTORY": other + "/.git/objects", "GIT_ALTERNATE_OBJECT_DIRECTORIES": other + "/.git/objects",
		"GIT_EXTERNAL_DIFF": "touch " + ran + ";:", "GIT_PAGER": "touch " + ran, "PAGER": "touch " + ran, "GIT_CONFIG_PARAMETERS": "'core.fsmonitor=touch " + ran + "'", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "touch " + ran,
		"GIT_EXEC_PATH": t.TempDir(), "GIT_TRACE": ran, "GIT_COMMON_DIR": other + "/.git", "GIT_NAMESPACE": "x", "GIT_DIFF_OPTS": "--no-index", "GIT_CEILING_DIRECTORIES": "/",
	} {
		t.Setenv(key, value)
	}
	made := tools(t, &general.Config{Dir: dir})
	check(t, made, row{"git_status", args{}, "branch: main\nmodified: a.txt\n"}, row{"git_diff", args{}, "~+changed"}, row{"git_log", args{}, "~the first commit"})
	for name, a := range map[string]args{"git_log": {}, "git_show": {}, "git_blame": {"path": "a.txt"}} {
		if got := call(t, made, name, a); strings.HasPrefix(got, "Error:") || strings.Contains(got, "secret") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the environment was run, or a trace was written")
	}
}

// An object that is missing is not fetched: the transport may be a program.
func TestGitFetchesNothing(t *testing.T) {
	dir, ran := repo(t), filepath.Join(t.TempDir(), "ran")
	blob := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD:a.txt"))
	if err := os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
		"remote.origin.url": "ext::sh -c touch% " + ran, "protocol.ext.allow": "always", "protocol.allow": "always",
	} {
		git(t, dir, "config", key, value)
	}
	check(t, tools(t, &general.Config{Dir: dir}), row{"git_show", args{}, "~Error: git: "})
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program of the transport was run")
	}
}

// No command of a submodule's configuration is run.
func TestGitSubmodule(t *testing.T) {
	dir, ran := repo(t), filepath.Join(t.TempDir(), "ran")
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repo(t), "sub")
	git(t, dir, "commit", "-qm", "a submodule")
	sub := filepath.Join(dir, "sub")
	write(t, sub, "a.txt", "changed\n")
	git(t, sub, "commit", "-qam", "in the submodule")
	git(t, dir, "commit", "-qam", "the submodule moved")
	write(t, sub, "a.txt", "changed again\n")
	git(t, sub, "config", "core.fsmonitor", "touch "+ran+";:")
	git(t, sub, "config", "diff.external", "touch "+ran+";:")
	git(t, dir, "config", "diff.submodule", "diff")
	git(t, dir, "config", "status.submoduleSummary", "true")
	if err := os.RemoveAll(ran); err != nil {
		t.Fatal(err)
	}
	made := tools(t, &general.Config{Dir: dir})
	for name, a := range map[string]args{"git_status": {}, "git_diff": {}, "git_log": {}, "git_show": {}} {
		if got := call(t, made, name, a); strings.HasPrefix(got, "Error:") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the submodule was run")
	}
}

// No command of a repository's configuration is run, and nothing outside is read.
func TestGitConfiguration(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho x >> "+ran+"\ncat\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for key, attribute := range map[string]string{
		"core.fsmonitor": "", "diff.external": "", "filter.f.clean": "*.txt filter=f", "filter.f.process": "*.txt filter=f", "filter.f.smudge": "*.txt filter=f", "diff.f.textconv": "*.txt diff=f", "diff.f.command": "*.txt diff=f",
		"core.pager": "", "pager.log": "", "pager.show": "", "alias.status": "", "alias.log": "", "core.hooksPath": "", "interactive.diffFilter": "", "credential.helper": "", "gpg.program": "", "core.sshCommand": "", "core.editor": "", "core.alternateRefsCommand": "", "filter.F.X.clean": "*.txt filter=F.X",
	} {
		for _, file := range []string{"config", "config.worktree"} {
			dir := repo(t)
			signed(t, dir)
			git(t, dir, "config", "extensions.worktreeConfig", "true")
			git(t, dir, "config", "log.showSignature", "true")
			git(t, dir, "config", "format.pretty", "%H %G? %GG")
			git(t, dir, "config", "--file", ".git/"+file, key, program)
			write(t, dir, ".gitattributes", attribute+"\n")
			write(t, dir, ".git/info/attributes", attribute+"\n")
			if key == "core.hooksPath" {
				git(t, dir, "config", "--file", ".git/"+file, key, filepath.Join(dir, ".git/hooks"))
			}
			for _, hook := range []string{"post-index-change", "pre-commit", "post-checkout"} {
				if err := os.WriteFile(filepath.Join(dir, ".git", "hooks", hook), []byte("#!"+program+"\n"), 0o700); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
			}
			write(t, dir, "a.txt", "changed\n")
			made := tools(t, &general.Config{Dir: dir})
			for name, a := range map[string]args{"git_status": {}, "git_diff": {}, "git_log": {}, "git_show": {}, "git_blame": {"path": "a.txt"}} {
				if got := call(t, made, name, a); strings.HasPrefix(got, "Error:") {
					t.Errorf("%s %s: %s: got %q", file, key, name, got)
				}
			}
			if _, err := os.Stat(ran); err == nil {
				t.Errorf("%s %s: the program was run", file, key)
				if err := os.Remove(ran); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A filter whose name an option cannot contain is refused, and its program is not run.
func TestGitFilterName(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho x >> "+ran+"\ncat\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	dir := repo(t)
	made := tools(t, &general.Config{Dir: dir})
	git(t, dir, "config", "filter.a=b.clean", program)
	write(t, dir, ".gitattributes", "*.txt filter=a=b\n")
	write(t, dir, "a.txt", "changed\n")
	for name, a := range map[string]args{"git_status": {}, "git_diff": {}, "git_log": {}, "git_show": {}, "git_blame": {"path": "a.txt"}} {
		if got := call(t, made, name, a); !strings.HasPrefix(got, "Error:") || !strings.Contains(got, `the filter "a=b"`) {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
	if got := whyNoGit(t, dir); !strings.Contains(got, `the filter "a=b"`) {
		t.Errorf("the git tools are missing because of %q", got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program was run")
	}
}

// A configuration that is too large to be checked is refused, so that its last lines cannot name a program or a file.
func TestGitLargeConfiguration(t *testing.T) {
	dir, ran := repo(t), filepath.Join(t.TempDir(), "ran")
	write(t, dir, ".gitattributes", "*.txt filter=evil\n")
	write(t, dir, "a.txt", "changed\n")
	made := tools(t, &general.Config{Dir: dir})
	var keys strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&keys, "[junk \"%0100d\"]\n\tkey = x\n", i)
	}
	program := "touch " + ran + "; cat"
	for name, last := range map[string]string{
		"filter": "[filter \"evil\"]\n\tclean = " + strconv.Quote(program) + "\n", "include": "[include]\n\tpath = " + filepath.Join(t.TempDir(), "outside") + "\n", "none": "",
	} {
		write(t, dir, ".git/config", "[core]\n\trepositoryFormatVersion = 0\n"+keys.String()+last)
		const want = "the keys in the configuration of the repository have more than 200000 bytes, so that the tools cannot check them: remove some"
		if got := whyNoGit(t, dir); got != want {
			t.Errorf("%s: the git tools are missing because of %q, want %q", name, got, want)
		}
		check(t, made, row{"git_status", args{}, "Error: " + want})
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("%s: the program was run", name)
		}
	}
}

// The name of a filter may have bytes that are not text.
func TestGitFilterBytes(t *testing.T) {
	dir, ran := repo(t), filepath.Join(t.TempDir(), "ran")
	git(t, dir, "config", "filter.a\xff.clean", "touch "+ran+"; cat")
	write(t, dir, ".gitattributes", "*.txt filter=a\xff\n")
	write(t, dir, "a.txt", "changed\n")
	check(t, tools(t, &general.Config{Dir: dir}), row{"git_diff", args{}, "~+changed"})
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program was run")
	}
}

// RA-75: a long list of changed files ends with a note about it.
func TestGitStatusCut(t *testing.T) {
	dir := repo(t)
	for i := range 1000 {
		write(t, dir, fmt.Sprintf("%0230d", i), "")
	}
	if got := call(t, tools(t, &general.Config{Dir: dir}), "git_status", args{}); !strings.HasSuffix(got, "\n[cut: only the first 200000 bytes are here]\n") {
		t.Errorf("git_status ends with %q", got[max(0, len(got)-100):])
	}
}

// The configuration names no file outside that git reads: one without an end would keep it running.
func TestGitOrderFile(t *testing.T) {
	dir := repo(t)
	git(t, dir, "config", "diff.orderFile", filepath.Join(t.TempDir(), "none"))
	write(t, dir, "a.txt", "changed\n")
	check(t, tools(t, &general.Config{Dir: dir}), row{"git_diff", args{}, "~+changed\n"}, row{"git_show", args{}, "~the first commit"})
}

// The configuration does not change the form of a commit.
func TestGitShowForm(t *testing.T) {
	dir := repo(t)
	git(t, dir, "config", "format.pretty", "%H")
	if got := call(t, tools(t, &general.Config{Dir: dir}), "git_show", args{}); !strings.Contains(got, "Author:") {
		t.Errorf("git_show: got %q, want the whole message", got)
	}
}

// signed adds a signed commit to a repository.
func signed(t *testing.T, dir string) {
	t.Helper()
	gpg := filepath.Join(t.TempDir(), "gpg")
	script := "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
	if err := os.WriteFile(gpg, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	git(t, dir, "-c", "gpg.program="+gpg, "commit", "-q", "--allow-empty", "-S", "-m", "a signed commit")
}

// whyNoGit returns why there are no git tools for a folder, or "".
func whyNoGit(t *testing.T, dir string) string {
	t.Helper()
	for _, m := range tools(t, &general.Config{Dir: dir}).Missing() {
		if why, ok := strings.CutPrefix(m, "git: "); ok {
			return why
		}
	}
	return ""
}

// RA-83: there are no git tools for a repository that git cannot read, and Missing has what git reports.
func TestGitBroken(t *testing.T) {
	head := func(dir string) string { return strings.TrimSpace(git(t, dir, "rev-parse", "HEAD^{tree}")) }
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"no change": {func(string) error { return nil }, ""},
		"no commit": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, ".git/refs/heads/main")) }, ""},
		"an empty .git": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, ".git")), os.Mkdir(filepath.Join(dir, ".git"), 0o700))
		}, "not a git repository"},
		"no objects":   {func(dir string) error { return os.RemoveAll(filepath.Join(dir, ".git/objects")) }, "not a git repository"},
		"no refs":      {func(dir string) error { return os.RemoveAll(filepath.Join(dir, ".git/refs")) }, "not a git repository"},
		"no head":      {func(dir string) error { return os.Remove(filepath.Join(dir, ".git/HEAD")) }, "not a git repository"},
		"a wrong head": {func(dir string) error { return os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte("x"), 0o600) }, "not a git repository"},
		"no tree": {func(dir string) error {
			id := head(dir)
			return os.Remove(filepath.Join(dir, ".git/objects", id[:2], id[2:]))
		}, "git: "},
		"the index":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, ".git/index"), []byte("x"), 0o600) }, "index"},
		"the config":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, ".git/config"), []byte("["), 0o600) }, "bad config"},
		"the version": {func(dir string) error { git(t, dir, "config", "core.repositoryFormatVersion", "99"); return nil }, "99"},
	} {
		dir := repo(t)
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		if got := whyNoGit(t, dir); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, dir) {
			t.Errorf("%s: the git tools are missing because of %q, want %q", name, got, c.want)
		}
	}
}

// A repository that is not wholly in the working folder is refused.
func TestGitOutside(t *testing.T) {
	other := repo(t)
	for name, plant := range map[string]func(dir string) error{
		"alternates": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git/objects/info/alternates"), []byte(filepath.Join(other, ".git/objects")), 0o600)
		},
		"include": func(dir string) error {
			git(t, dir, "config", "include.path", filepath.Join(other, "a.txt"))
			return nil
		},
		"includeIf": func(dir string) error {
			git(t, dir, "config", "includeIf.onbranch:main.path", filepath.Join(other, "a.txt"))
			return nil
		},
		"commondir": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git/commondir"), []byte(filepath.Join(other, ".git")), 0o600)
		},
		"a link": func(dir string) error {
			return move(filepath.Join(dir, ".git"), filepath.Join(dir, "x"), filepath.Join(other, ".git"))
		},
		"a file": func(dir string) error { return os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "x")) },
		"a branch": func(dir string) error {
			return move(filepath.Join(dir, ".git/refs/heads/main"), filepath.Join(dir, "x"), filepath.Join(other, ".git/refs/heads/main"))
		},
		"packs": func(dir string) error {
			return move(filepath.Join(dir, ".git/objects/pack"), filepath.Join(dir, "x"), filepath.Join(other, ".git/objects/pack"))
		},
		"attributes": func(dir string) error {
			return os.Symlink(filepath.Join(other, "a.txt"), filepath.Join(dir, ".git/info/attributes"))
		},
		"another repository": func(dir string) error {
			if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+filepath.Join(other, ".git")), 0o600)
		},
		"objects": func(dir string) error {
			return move(filepath.Join(dir, ".git/objects"), filepath.Join(dir, "x"), filepath.Join(other, ".git/objects"))
		},
		"the index": func(dir string) error {
			return move(filepath.Join(dir, ".git/index"), filepath.Join(dir, "x"), filepath.Join(other, ".git/index"))
		},
	} {
		dir := repo(t)
		made := tools(t, &general.Config{Dir: dir})
		if err := plant(dir); err != nil {
			t.Fatal(err)
		}
		got := call(t, made, "git_status", args{})
		if !strings.HasPrefix(got, "Error: ") || strings.Contains(got, other) {
			t.Errorf("%s: got %q", name, got)
		}
		if why := whyNoGit(t, dir); "Error: "+why != got {
			t.Errorf("%s: the git tools are missing because of %q, want that of %q", name, why, got)
		}
	}
	dir := repo(t)
	git(t, dir, "config", "core.worktree", other)
	write(t, other, "a.txt", "changed\n")
	check(t, tools(t, &general.Config{Dir: dir}), row{"git_diff", args{}, "There are no unstaged changes."})
}

// move renames a file, and puts a link in its place.
func move(from, to, target string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.Symlink(target, from)
}
