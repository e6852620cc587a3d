package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sumsName is the file with the checksums of all others.
const sumsName = "SHA256SUMS"

// packages returns the files of a release, without SHA256SUMS.
func (b *Build) packages() (files []file, err error) {
	for _, pack := range []func(*Build) ([]file, error){archives, npmPackages, wheels} {
		packed, err := pack(b)
		if err != nil {
			return nil, err
		}
		files = append(files, packed...)
	}
	return files, nil
}

// sourceFiles returns the files below release/folder that match patterns, with names relative to it. Each pattern must match.
func (b *Build) sourceFiles(folder string, patterns ...string) (files []file, err error) {
	dir := os.DirFS(filepath.Join(b.Source, "release", folder))
	for _, pattern := range patterns {
		names, err := fs.Glob(dir, pattern)
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("release/%s/%s in %s: %w", folder, pattern, b.Source, cmp.Or(err, fs.ErrNotExist))
		}
		for _, name := range names {
			data, err := fs.ReadFile(dir, name)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name, 0o644, data})
		}
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
		contents := slices.Concat([]file{{binary.Executable(), 0o755, binary.Data}}, binary.Licenses, b.Docs)
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

// sums returns SHA256SUMS, in the format of sha256sum.
func sums(files []file) file {
	var out bytes.Buffer
	for _, f := range sorted(files) {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return file{sumsName, 0o644, out.Bytes()}
}

// checkOut returns an error if the folder has a file that is not in its SHA256SUMS: such a folder is not replaced.
func checkOut(folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("-out %q is not a folder", folder)
	}
	data, err := os.ReadFile(filepath.Join(folder, sumsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := map[string]bool{sumsName: true}
	for line := range strings.Lines(string(data)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		known[name] = true
	}
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err == nil && !known[filepath.ToSlash(relative)] {
			err = fmt.Errorf("-out %q has a file of something else, %q: remove it or use another folder", folder, relative)
		}
		return err
	})
}

// replaceFolder writes files into a new folder and then replaces folder with it, so that folder has all files of one
// release. An interrupted call may leave the new folder; the next call removes it.
func replaceFolder(folder string, files []file) error {
	folder = filepath.Clean(folder)
	partial := folder + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(partial, filepath.FromSlash(f.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.data, f.mode)); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(folder), os.Rename(partial, folder))
}
