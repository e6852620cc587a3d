package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// npmPackages returns the package looptape and one for each platform, as npm pack makes them. npm installs of the
// latter only the one for its platform.
func npmPackages(b *Build) (files []file, err error) {
	version, _, _ := strings.Cut(strings.TrimPrefix(b.Version, "v"), "+") // npm has no build metadata
	pack := func(name string, contents []file) error {
		for i := range contents {
			contents[i].name = "package/" + contents[i].name
		}
		var out bytes.Buffer
		err := tarGz(&out, contents)
		name = strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-")
		files = append(files, file{"npm/" + name + "-" + version + ".tgz", 0o644, out.Bytes()})
		return err
	}
	optional := map[string]string{}
	for _, binary := range b.Binaries {
		name, contents, err := npmPlatform(binary, version)
		if err != nil {
			return nil, err
		}
		optional[name] = version
		if err := pack(name, contents); err != nil {
			return nil, err
		}
	}
	contents, err := npmModule(b, version, optional)
	if err != nil {
		return nil, err
	}
	return files, pack("looptape", contents)
}

// npmModule returns the files of the package looptape.
func npmModule(b *Build, version string, optional map[string]string) (files []file, err error) {
	if files, err = b.sourceFiles("npm", "*.js", "*.d.ts", "bin/*.js", "README.md"); err != nil {
		return nil, err
	}
	for i := range files {
		if strings.HasPrefix(files[i].name, "bin/") {
			files[i].mode = 0o755
		}
	}
	license, err := os.ReadFile(filepath.Join(b.Source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	templates, err := b.sourceFiles("npm", "package.json")
	if err != nil {
		return nil, err
	}
	manifest := templates[0].data
	dependencies, err := json.Marshal(optional)
	if err != nil {
		return nil, err
	}
	for old, replacement := range map[string]string{
		`"version": "0.0.0"`:         `"version": "` + version + `"`,
		`"optionalDependencies": {}`: `"optionalDependencies": ` + string(dependencies),
	} {
		if bytes.Count(manifest, []byte(old)) != 1 {
			return nil, fmt.Errorf("release/npm/package.json: want %s once", old)
		}
		manifest = bytes.Replace(manifest, []byte(old), []byte(replacement), 1)
	}
	return append(files, file{"package.json", 0o644, manifest}, file{"LICENSE", 0o644, license}), nil
}

// npmManifest is the package.json of the package for a platform. It has no exports, so that the package looptape
// can find the binary.
type npmManifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Homepage    string            `json:"homepage"`
	Repository  map[string]string `json:"repository"`
	License     string            `json:"license"`
	OS          []string          `json:"os"`
	CPU         []string          `json:"cpu"`
	// PreferUnplugged lets Yarn unpack the package, because a binary in an archive cannot run.
	PreferUnplugged bool              `json:"preferUnplugged"`
	PublishConfig   map[string]string `json:"publishConfig"`
}

// npmPlatform returns the name and the files of the package for a platform.
func npmPlatform(b Binary, version string) (name string, files []file, err error) {
	system, cpu := b.OS, b.Arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	name = "@looptape/" + system + "-" + cpu
	description := "The command looptape for " + system + " on " + cpu + ". Install the package looptape."
	manifest, err := json.MarshalIndent(npmManifest{
		Name: name, Version: version, Description: description,
		Homepage:   "https://github.com/looptape/looptape/blob/main/docs/javascript.md",
		Repository: map[string]string{"type": "git", "url": "git+https://github.com/looptape/looptape.git"},
		License:    "MIT", OS: []string{system}, CPU: []string{cpu}, PreferUnplugged: true,
		PublishConfig: map[string]string{"access": "public"},
	}, "", "  ")
	if err != nil {
		return "", nil, err
	}
	files = append(files,
		file{"package.json", 0o644, append(manifest, '\n')},
		file{"README.md", 0o644, []byte("# " + name + "\n\n" + description + "\n")},
		file{"bin/" + b.Executable(), 0o755, b.Data})
	return name, append(files, b.Licenses...), nil
}
