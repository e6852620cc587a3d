package general

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/loop"
)

// repository returns the path of the program git, or why the tools of git cannot work. The repository
// must be in the working folder: a parent folder, or a .git that is a link or a file, leads out of it.
func repository(root *os.Root) (git, why string) {
	info, err := root.Lstat(".git")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "the working folder has no repository (.git)"
	case err != nil:
		return "", reason(".git", err).Error()
	case !info.IsDir():
		return "", "the repository is not in the working folder: .git is not a folder"
	}
	if git, err = exec.LookPath("git"); err != nil {
		return "", "there is no program git"
	}
	return git, ""
}

// broken returns why the tools of git cannot work in a repository, or "".
func (g *gitTools) broken() (why string) {
	_, err := g.run(context.Background(), "status", "--porcelain=v1", "--ignore-submodules=all", "--untracked-files=no")
	if err != nil {
		return err.Error()
	}
	return ""
}

// gitTimeout limits a command of git.
const gitTimeout = 60 * time.Second

type gitTools struct {
	*folder
	git, dir string
}

func gitGroup(g *gitTools) group {
	return group{tools: []loop.Tool{
		tool("git_status", "Shows the branch, and each changed file with what happened to it.", g.status),
		tool("git_diff", "Shows the changes that are not staged, or with staged the staged ones.", g.changes),
		tool("git_log", "Lists commits, the newest first, one per line: 20 unless count says otherwise.", g.log),
		tool("git_show", "Shows a commit with its message and its changes: HEAD unless ref says otherwise.", g.show),
		tool("git_blame", "Shows the last commit of each line of a file.", g.blame),
	}}
}

// safeOptions make git run no other program and read no file outside, whatever the configuration of the
// repository says. The environment of exec disables locks and servers.
var safeOptions = []string{
	"--no-pager", "--no-replace-objects", "--literal-pathspecs", "--git-dir=.git", "--work-tree=.",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null", "-c", "diff.orderFile=/dev/null",
	"-c", "log.showSignature=false", "-c", "format.pretty=medium", "-c", "diff.autoRefreshIndex=false", "-c", "diff.ignoreSubmodules=all", "-c", "submodule.recurse=false",
	"-c", "core.quotePath=false", "-c", "color.ui=false", "-c", "safe.directory=*", "-c", "log.mailmap=false", "-c", "mailmap.file=", "-c", "mailmap.blob=", "-c", "blame.ignoreRevsFile=",
}

// run runs a command of git and returns what it prints.
func (g *gitTools) run(ctx context.Context, args ...string) (string, error) {
	if _, why := repository(g.root); why != "" { // it may have changed
		return "", errors.New(why)
	}
	if err := g.within(ctx); err != nil {
		return "", err
	}
	filters, err := g.filters(ctx)
	if err != nil {
		return "", err
	}
	out, err := g.exec(ctx, append(filters, args...))
	if err != nil {
		return "", err
	}
	return out.text(), nil
}

// maxRepository limits the files of a repository that are checked.
const maxRepository = 200_000

// within returns an error if the repository takes data from other places: git follows links out of the
// working folder. Hooks may be links, because git runs none.
func (g *gitTools) within(ctx context.Context) error {
	n := 0
	return fs.WalkDir(g.root.FS(), ".git", func(p string, d fs.DirEntry, err error) error {
		switch n++; {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // git has removed it
			return nil
		case err != nil:
			return reason(p, err)
		case n > maxRepository:
			return fmt.Errorf("the repository has more than %d files: git gc makes it smaller", maxRepository)
		case p == ".git/hooks":
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("the repository is not in the working folder: %s is a link", p)
		case p == ".git/objects/info/alternates" || p == ".git/commondir":
			if info, err := d.Info(); err != nil || info.Size() > 0 {
				return fmt.Errorf("the repository is not in the working folder: it has %s", p)
			}
		}
		return nil
	})
}

// filters returns options that disable the programs that the configuration names for contents of files.
func (g *gitTools) filters(ctx context.Context) (options []string, err error) {
	names, err := g.exec(ctx, []string{"config", "--no-includes", "--name-only", "-z", "--list"})
	if err != nil {
		return nil, err
	}
	if names.cut() {
		return nil, fmt.Errorf("the keys in the configuration of the repository have more than %d bytes, so that the tools cannot check them: remove some", maxOutput)
	}
	seen := map[string]bool{}
	for key := range strings.SplitSeq(names.kept.String(), "\x00") { // names may be in any encoding
		switch rest, filter := strings.CutPrefix(key, "filter."); {
		case strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif."):
			return nil, errors.New("the configuration of the repository includes other files, which may lead out of the working folder")
		case filter:
			at := strings.LastIndexByte(rest, '.')
			name := rest[:max(0, at)]
			if strings.Contains(name, "=") { // which an option cannot name
				return nil, fmt.Errorf("the configuration of the repository has the filter %q: rename it, so that the tools can disable its programs", name)
			}
			if !seen[name] {
				seen[name] = true
				for _, key := range []string{"clean=", "smudge=", "process=", "required=false"} {
					options = append(options, "-c", "filter."+name+"."+key)
				}
			}
		}
	}
	return options, nil
}

// exec runs git and returns the first bytes that it prints.
func (g *gitTools) exec(ctx context.Context, args []string) (*limitedBuffer, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout) //nolint:forbidigo // a process runs in real time
	defer cancel()
	cmd := exec.CommandContext(ctx, g.git, append(safeOptions[:len(safeOptions):len(safeOptions)], args...)...)
	cmd.Dir = g.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, //nolint:forbidigo // git finds its own programs there
		"LC_ALL=C", "TZ=UTC", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=", // no fetching of missing objects, which may run a program
		"GIT_OPTIONAL_LOCKS=0", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.dir),
	}
	cmd.WaitDelay = 10 * time.Second
	stdout, stderr := &limitedBuffer{}, &limitedBuffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git was stopped: %w", context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("git: %s", strings.ReplaceAll(cmp.Or(strings.TrimSpace(stderr.text()), err.Error()), g.dir, "."))
	}
	return stdout, nil
}

type noArguments struct{}

func (g *gitTools) status(ctx context.Context, _ noArguments) (string, error) {
	out, err := g.run(ctx, "status", "--porcelain=v1", "--branch", "--ignore-submodules=all", "--untracked-files=normal")
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		branch, ok := strings.CutPrefix(line, "## ")
		switch {
		case strings.HasPrefix(line, "[cut: "): // no line of git has a "[" here
			lines = append(lines, line)
			continue
		case ok:
			lines = append(lines, "branch: "+branch)
			continue
		}
		lines = append(lines, described(line))
	}
	if len(lines) == 1 {
		lines = append(lines, "nothing is changed")
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// states are the letters of git status --porcelain.
var states = map[byte]string{'M': "modified", 'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "type changed"}

// conflicts are the pairs of letters of a file with a conflict, with the words of git.
var conflicts = map[string]string{
	"DD": "both deleted", "AU": "added by us", "UD": "deleted by them", "UA": "added by them", "DU": "deleted by us", "AA": "both added", "UU": "both modified",
}

// described says what happened to a file, from a line of git status --porcelain.
func described(line string) string {
	if len(line) < 4 {
		return line
	}
	var what []string
	name := line[3:]
	switch pair := line[:2]; {
	case pair == "??":
		what = []string{"untracked"}
	case conflicts[pair] != "":
		what = []string{"unmerged: " + conflicts[pair]}
	default:
		if s := states[pair[0]]; s != "" {
			what = append(what, "staged: "+s)
		}
		if s := states[pair[1]]; s != "" {
			what = append(what, s)
		}
	}
	return strings.Join(what, ", ") + ": " + name
}

// pathOf returns a path for git, or "" for none.
func (g *gitTools) pathOf(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	p, err := clean(name)
	if err != nil {
		return "", err
	}
	if _, err := g.root.Lstat(p); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be deleted
		return "", reason(name, err)
	}
	return p, nil
}

type changesArguments struct {
	Staged bool   `json:"staged,omitempty"`
	Path   string `json:"path,omitempty"`
}

// patch are the options of commands that print a patch. They run no program of the configuration.
var patch = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"}

func (g *gitTools) changes(ctx context.Context, a changesArguments) (string, error) {
	p, err := g.pathOf(a.Path)
	if err != nil {
		return "", err
	}
	args, which := append([]string{"diff"}, patch...), "unstaged"
	if a.Staged {
		args, which = append(args, "--cached"), "staged"
	}
	out, err := g.run(ctx, withPath(args, p)...)
	if err != nil {
		return "", err
	}
	if out == "" {
		return "There are no " + which + " changes.", nil
	}
	return out, nil
}

func withPath(args []string, p string) []string {
	if args = append(args, "--"); p != "" {
		args = append(args, p)
	}
	return args
}

type logArguments struct {
	Count *int   `json:"count,omitempty"`
	Path  string `json:"path,omitempty"`
}

func (g *gitTools) log(ctx context.Context, a logArguments) (string, error) {
	p, err := g.pathOf(a.Path)
	if err != nil {
		return "", err
	}
	out, err := g.run(ctx, withPath([]string{"log", "--no-show-signature", "--no-color", "--date=short", "--format=%h %ad %an: %s", "-n", strconv.Itoa(limited(a.Count, 20, 200))}, p)...)
	if err == nil && out == "" {
		return "There are no commits.", nil
	}
	return out, err
}

type showArguments struct {
	Ref string `json:"ref,omitempty" jsonschema:"a commit, a branch or a tag; HEAD if missing"`
}

func (g *gitTools) show(ctx context.Context, a showArguments) (string, error) {
	ref := a.Ref
	if ref == "" {
		ref = "HEAD"
	}
	if strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, "\x00\n") {
		return "", fmt.Errorf("%q is not the name of a commit", ref)
	}
	return g.run(ctx, append(append([]string{"show", "--no-show-signature"}, patch...), "--end-of-options", ref, "--")...)
}

type blameArguments struct {
	Path string `json:"path"`
}

func (g *gitTools) blame(ctx context.Context, a blameArguments) (string, error) {
	p, info, err := g.stat(a.Path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%q is not a file", a.Path)
	}
	out, err := g.run(ctx, "blame", "--no-textconv", "--no-progress", "--date=short", "--", p)
	if err == nil && out == "" {
		return fmt.Sprintf("%q is empty.", a.Path), nil
	}
	return out, err
}
