package general_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no program git")
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
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
}

// RA-77.
func TestGitLog(t *testing.T) {
	dir := repo(t)
	for i := range 24 {
		git(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("commit ", i))
	}
	write(t, dir, "b.txt", "c\n")
	git(t, dir, "commit", "-qam", "the last commit")
	made := tools(t, &general.Config{Dir: dir})
	for want, a := range map[int]args{20: {}, 3: {"count": 3}, 1: {"count": 0}, 26: {"count": 1000}, 2: {"path": "b.txt"}} {
		if got := strings.Count(call(t, made, "git_log", a), "\n"); got != want {
			t.Errorf("%v: got %d lines, want %d", a, got, want)
		}
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
		"core.pager": "", "pager.log": "", "gpg.program": "", "core.sshCommand": "", "core.editor": "", "core.alternateRefsCommand": "", "filter.F.X.clean": "*.txt filter=F.X",
	} {
		for _, file := range []string{"config", "config.worktree"} {
			dir := repo(t)
			git(t, dir, "config", "extensions.worktreeConfig", "true")
			git(t, dir, "config", "log.showSignature", "true")
			git(t, dir, "config", "--file", ".git/"+file, key, program)
			write(t, dir, ".gitattributes", attribute+"\n")
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
		if got := call(t, made, "git_status", args{}); !strings.HasPrefix(got, "Error: ") || strings.Contains(got, other) {
			t.Errorf("%s: got %q", name, got)
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
