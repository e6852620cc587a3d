package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Platform is an operating system and an architecture, in the words of Go.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Executable returns the name of the binary on the platform.
func (p Platform) Executable() string {
	if p.OS == "windows" {
		return "looptape.exe"
	}
	return "looptape"
}

// platforms are those of a release.
var platforms = []Platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func names(platforms []Platform) (names []string) {
	for _, p := range platforms {
		names = append(names, p.String())
	}
	return names
}

// parsePlatforms reads a list such as "linux/amd64,darwin/arm64". It sorts the platforms.
func parsePlatforms(list string) (chosen []Platform, err error) {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names(platforms), name)
		if i < 0 {
			return nil, fmt.Errorf("unknown platform %q: want some of %s", name, strings.Join(names(platforms), ","))
		}
		if !slices.Contains(chosen, platforms[i]) {
			chosen = append(chosen, platforms[i])
		}
	}
	slices.SortFunc(chosen, func(a, b Platform) int { return strings.Compare(a.String(), b.String()) })
	return chosen, nil
}

// Build has what the packages of a release contain.
type Build struct {
	Version  string // of the module, such as v1.2.3 or a pseudo-version
	Source   string // folder with the sources, at the commit that was built
	Binaries []Binary
}

// Binary is the command for one platform.
type Binary struct {
	Platform
	Data     []byte
	Licenses []file // LICENSE, and those of the dependencies that are in the binary, below licenses/
}

// build compiles the command for each platform.
func build(ctx context.Context, o options) (*Build, error) {
	source, err := filepath.Abs(o.repository)
	if err != nil {
		return nil, err
	}
	b := &Build{Source: source}
	for _, p := range o.platforms {
		if err := b.compile(ctx, p); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return b, nil
}

func (b *Build) compile(ctx context.Context, p Platform) error {
	folder, err := os.MkdirTemp("", "looptape-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, p.Executable())
	c := exec.CommandContext(ctx, "go", "build", "-buildvcs=true", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/looptape")
	c.Dir = b.Source
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.OS, "GOARCH="+p.Arch)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	b.Version = info.Main.Version
	if b.Version == "(devel)" {
		b.Version = "v0.0.0-devel"
	}
	license, err := os.ReadFile(filepath.Join(b.Source, "LICENSE"))
	if err != nil {
		return err
	}
	b.Binaries = append(b.Binaries, Binary{Platform: p, Data: data, Licenses: []file{{"LICENSE", 0o644, license}}})
	return nil
}

// packages returns the files of a release, without SHA256SUMS.
func (b *Build) packages() (files []file, err error) {
	for _, pack := range []func(*Build) ([]file, error){archives, npmPackages} {
		packed, err := pack(b)
		if err != nil {
			return nil, err
		}
		files = append(files, packed...)
	}
	return files, nil
}

// archives returns an archive for each platform.
func archives(b *Build) (files []file, err error) {
	for _, binary := range b.Binaries {
		write, ending := tarGz, ".tar.gz"
		if binary.OS == "windows" {
			write, ending = zipFile, ".zip"
		}
		name := "looptape_" + strings.TrimPrefix(b.Version, "v") + "_" + binary.OS + "_" + binary.Arch
		contents := append([]file{{binary.Executable(), 0o755, binary.Data}}, binary.Licenses...)
		for i := range contents {
			contents[i].name = name + "/" + contents[i].name
		}
		var out bytes.Buffer
		if err := write(&out, contents); err != nil {
			return nil, err
		}
		files = append(files, file{name + ending, 0o644, out.Bytes()})
	}
	return files, nil
}

// write writes the packages and SHA256SUMS into a folder, and their names to out.
func (b *Build) write(folder string, out io.Writer) error {
	files, err := b.packages()
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, f := range sorted(files) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	files = append(files, file{"SHA256SUMS", 0o644, sums.Bytes()})
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.data, fs.FileMode(f.mode))); err != nil {
			return err
		}
	}
	_, err = out.Write(sums.Bytes())
	return err
}
