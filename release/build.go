package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// Build has what the packages of a release contain.
type Build struct {
	Version  string    // of the module, such as v1.2.3 or a pseudo-version
	Time     time.Time // of the commit
	Source   string    // folder with the sources that were built
	Binaries []Binary
	Docs     []file // completions/ and man/

	temporary string   // folder to delete
	env       []string // of git and Go
}

// Binary is the command for one platform.
type Binary struct {
	Platform
	Data     []byte
	Licenses []file // LICENSE, and those of the modules that are in the binary, below licenses/
}

// withInlining are the packages in which the commands spend their time. Calls in other packages are not inlined, which
// makes the binary smaller by a tenth.
var withInlining = []string{
	"github.com/looptape/looptape/internal/...", "github.com/looptape/looptape/trace/importer/internal/tree",
	"github.com/andybalholm/...", "github.com/cespare/...", "github.com/klauspost/...", "github.com/tidwall/...",
	"bufio", "bytes", "compress/...", "crypto/internal/...", "hash/...", "internal/...", "io", "math/...", "reflect", "regexp/...",
	"runtime/...", "sort", "strconv", "strings", "sync/...", "unicode/...",
}

// develVersion is the version of a build of a working tree for which Go knows none.
const develVersion = "v0.0.0-devel"

// build compiles the command for each platform, in a clone of the commit. The caller closes the Build.
func build(ctx context.Context, o options) (b *Build, err error) {
	b = &Build{Time: modified}
	defer func() {
		if err != nil {
			b.Close()
			b = nil
		}
	}()
	if b.temporary, err = os.MkdirTemp("", "looptape-release-"); err != nil {
		return b, err
	}
	if err := b.environment(ctx); err != nil {
		return b, err
	}
	if err := b.source(ctx, o); err != nil {
		return b, err
	}
	for _, p := range o.platforms {
		if err := b.compile(ctx, p, o); err != nil {
			return b, fmt.Errorf("%s: %w", p, err)
		}
	}
	if b.Docs, err = docs(b.Version, b.Time); err != nil {
		return b, err
	}
	return b, nil
}

// Close removes the temporary files. Source is one of them.
func (b *Build) Close() { _ = os.RemoveAll(b.temporary) }

// environment sets the environment of git and Go. It has no variable or file that changes what Go builds: only
// where modules come from is as configured.
func (b *Build) environment(ctx context.Context) error {
	out, err := command(ctx, ".", os.Environ(), "go", "env", "-json", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GONOPROXY",
		"GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOAUTH", "GOVCS", "GOTOOLCHAIN")
	if err != nil {
		return err
	}
	settings := map[string]string{}
	if err := json.Unmarshal([]byte(out), &settings); err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, "GO"), strings.HasPrefix(name, "CGO_"):
		case name == "GIT_DIR", name == "GIT_WORK_TREE", name == "GIT_INDEX_FILE":
		default:
			b.env = append(b.env, entry)
		}
	}
	for name, value := range settings { // each is there once: their order does not matter
		b.env = append(b.env, name+"="+value)
	}
	b.env = append(b.env, "GOENV=off", "GOWORK=off", "CGO_ENABLED=0")
	return nil
}

// source clones the commit, because Go finds the version only in a clone, and files that are not committed must not
// get into the packages. With allowDirty, the working tree is built.
func (b *Build) source(ctx context.Context, o options) error {
	git := func(dir string, arguments ...string) (string, error) {
		return command(ctx, dir, b.env, "git", arguments...)
	}
	top, err := git(o.repository, "rev-parse", "--show-toplevel")
	if err != nil {
		return fmt.Errorf("%w\na release is built in a clone of the repository", err)
	}
	if o.allowDirty {
		b.Source = top
		return nil
	}
	changed, err := git(top, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the working tree differs from the commit: commit or remove these files, or build with -allow-dirty:\n%s", changed)
	}
	commit, err := git(top, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	shallow, err := git(top, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if tags, err := git(top, "tag", "--points-at", "HEAD"); err != nil || shallow == "true" && tags == "" {
		return errors.Join(err, errors.New("this clone is shallow and its commit has no tag, so that the version is unknown: run git fetch --unshallow --tags"))
	}
	b.Source = filepath.Join(b.temporary, "source")
	if _, err = git(top, "-c", "advice.detachedHead=false", "clone", "--quiet", "--no-checkout", top, b.Source); err != nil {
		return err
	}
	_, err = git(b.Source, "checkout", "--quiet", "--detach", commit)
	return err
}

// compile adds the binary for a platform.
func (b *Build) compile(ctx context.Context, p Platform, o options) error {
	env := append(b.env[:len(b.env):len(b.env)], "GOOS="+p.OS, "GOARCH="+p.Arch)
	path := filepath.Join(b.temporary, p.Executable())
	flags := []string{"build", "-buildvcs=true", "-trimpath", "-ldflags=-s -w -funcalign=8", "-o", path, "-gcflags=all=-l"}
	for _, pattern := range withInlining {
		flags = append(flags, "-gcflags="+pattern+"=")
	}
	if _, err := command(ctx, b.Source, env, "go", append(flags, "./cmd/looptape")...); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if err := inspect(p, data, info); err != nil {
		return err
	}
	if err := b.setVersion(info, o); err != nil {
		return err
	}
	licenses, err := b.licenses(ctx, env, info)
	if err != nil {
		return err
	}
	b.Binaries = append(b.Binaries, Binary{p, data, licenses})
	return nil
}

// setVersion reads the version and the time of the commit from a binary. All binaries must have the same ones.
func (b *Build) setVersion(info *debug.BuildInfo, o options) (err error) {
	version, committed := info.Main.Version, modified
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if committed, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return err
			}
		}
	}
	if version == "(devel)" && o.allowDirty {
		version = develVersion
	}
	switch {
	case !strings.HasPrefix(version, "v"):
		return fmt.Errorf("the version is %q: Go found no git", version)
	case o.version != "" && o.version != version:
		return fmt.Errorf("the commit has the version %s, want %s: check out the commit with that tag, with all tags", version, o.version)
	case b.Version != "" && b.Version != version:
		return fmt.Errorf("the version was %s and is %s: the working tree changed during the build", b.Version, version)
	}
	b.Version, b.Time = version, committed
	return nil
}

// command runs a program and returns its output without the last line feed. The error has what it printed.
func command(ctx context.Context, dir string, env []string, name string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.Env = dir, env
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, arguments[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return strings.TrimRight(string(out), "\r\n"), nil
}
