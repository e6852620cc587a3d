package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// licenseName is the name of a file or folder with a license, or with what a license requires to be copied.
var licenseName = regexp.MustCompile(`(?i)^(un)?(licen[sc]e|copying|copyright|notice|patents|third_party_licenses)([-._].*)?$`)

// licenses returns LICENSE and, below licenses/, the licenses of Go and of the modules in a binary: those in the folders
// of the packages that are in it, and in the folders above them.
func (b *Build) licenses(ctx context.Context, env []string, info *debug.BuildInfo) ([]file, error) {
	own, err := os.ReadFile(filepath.Join(b.Source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	files := []file{{"LICENSE", 0o644, own}}
	list, err := command(ctx, b.Source, env, "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/looptape")
	if err != nil {
		return nil, err
	}
	roots, folders := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue // a package of Go or of looptape
		}
		module, root, folder := fields[0], fields[1], fields[2]
		roots[module] = root
		for ; len(folder) >= len(root); folder = filepath.Dir(folder) {
			if !slices.Contains(folders[module], folder) {
				folders[module] = append(folders[module], folder)
			}
		}
	}
	goRoot, err := command(ctx, b.Source, env, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules := []string{"go"}
	roots["go"], folders["go"] = goRoot, []string{goRoot}
	for _, m := range info.Deps {
		modules = append(modules, m.Path)
	}
	for _, module := range modules {
		found, err := licensesIn("licenses/"+module, roots[module], folders[module])
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no license of %s found in %q", module, roots[module])
		}
		files = append(files, found...)
	}
	return files, nil
}

// licensesIn reads the licenses in the folders, which are below root. Their names begin with prefix.
func licensesIn(prefix, root string, folders []string) (files []file, err error) {
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !licenseName.MatchString(e.Name()) {
				continue
			}
			err := filepath.WalkDir(filepath.Join(folder, e.Name()), func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || filepath.Ext(name) == ".go" {
					return err
				}
				data, err := os.ReadFile(name)
				relative, relativeErr := filepath.Rel(root, name)
				files = append(files, file{path.Join(prefix, filepath.ToSlash(relative)), 0o644, data})
				return errors.Join(err, relativeErr)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}
