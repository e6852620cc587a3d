package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// wheelTags are the tags of the platforms. The binaries for Linux are static, so that they need neither of the
// two C libraries. Those for macOS need the version that Go's version needs.
var wheelTags = map[Platform][]string{
	{"darwin", "amd64"}:  {"macosx_12_0_x86_64"},
	{"darwin", "arm64"}:  {"macosx_12_0_arm64"},
	{"linux", "amd64"}:   {"manylinux_2_17_x86_64", "musllinux_1_2_x86_64"},
	{"linux", "arm64"}:   {"manylinux_2_17_aarch64", "musllinux_1_2_aarch64"},
	{"windows", "amd64"}: {"win_amd64"},
	{"windows", "arm64"}: {"win_arm64"},
}

// wheels returns a Python wheel for each platform, as the binary distribution format 1.0 of packaging.python.org
// specifies.
func wheels(b *Build) (files []file, err error) {
	version, err := pythonVersion(b.Version)
	if err != nil {
		return nil, err
	}
	sources, err := b.sourceFiles("python", "looptape/*.py", "looptape/py.typed")
	if err != nil {
		return nil, err
	}
	readme, err := b.sourceFiles("python", "README.md")
	if err != nil {
		return nil, err
	}
	for _, binary := range b.Binaries {
		tags, ok := wheelTags[binary.Platform]
		if !ok {
			return nil, fmt.Errorf("%s: missing tag of wheels", binary.Platform)
		}
		contents := wheelFiles(sources, readme[0].data, binary, version, tags)
		var out bytes.Buffer
		if err := zipFile(&out, contents); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("python/looptape-%s-py3-none-%s.whl", version, strings.Join(tags, "."))
		files = append(files, file{name, 0o644, out.Bytes()})
	}
	return files, nil
}

// wheelFiles returns the files of a wheel.
func wheelFiles(sources []file, description []byte, binary Binary, version string, tags []string) []file {
	files := append([]file{{"looptape/bin/" + binary.Executable(), 0o755, binary.Data}}, sources...)
	info := "looptape-" + version + ".dist-info"
	metadata := "Metadata-Version: 2.4\nName: looptape\nVersion: " + version + `
Summary: Test agent loops against scripted, strict and recorded model providers
Requires-Python: >=3.9
Project-URL: Source, https://github.com/looptape/looptape
Classifier: Framework :: Pytest
Classifier: License :: OSI Approved :: MIT License
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Software Development :: Testing
Classifier: Typing :: Typed
Description-Content-Type: text/markdown
`
	for _, license := range sorted(binary.Licenses) {
		name := strings.TrimPrefix(license.name, "licenses/")
		metadata += "License-File: " + name + "\n"
		files = append(files, file{path.Join(info, "licenses", name), 0o644, license.data})
	}
	wheel := "Wheel-Version: 1.0\nGenerator: looptape\nRoot-Is-Purelib: false\n"
	for _, tag := range tags {
		wheel += "Tag: py3-none-" + tag + "\n"
	}
	files = append(files,
		file{info + "/METADATA", 0o644, append([]byte(metadata+"\n"), description...)},
		file{info + "/WHEEL", 0o644, []byte(wheel)},
		file{info + "/entry_points.txt", 0o644, []byte("[console_scripts]\nlooptape = looptape.__main__:main\n\n[pytest11]\nlooptape = looptape.pytest_plugin\n")},
	)
	record := info + "/RECORD"
	var list bytes.Buffer
	for _, f := range sorted(files) {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&list, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&list, "%s,,\n", record)
	return append(files, file{record, 0o644, list.Bytes()})
}

// goVersion matches a version of a Go module: core, kind and number of a pre-release, time and revision of a
// pseudo-version, mark of an unknown version, and build metadata.
var goVersion = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?(?:(?:-|-0\.|\.0\.)(\d{14})-([0-9a-f]{12}))?(-devel)?(?:\+([a-z0-9.]+))?$`)

// pythonVersion converts a version of a Go module to one that Python orders in the same way (PEP 440).
func pythonVersion(version string) (string, error) {
	m := goVersion.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %q: a wheel needs one such as v1.2.3 or v1.2.3-rc.1", version)
	}
	core, pre, number, time, revision, devel, build := m[1], m[2], m[3], m[4], m[5], m[6], m[7]
	if pre != "" {
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", fmt.Errorf("version %q: %w", version, err)
		}
		if time != "" {
			n++ // the commit is after that pre-release, and .dev is before
		}
		core += map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[pre] + strconv.Itoa(n)
	}
	if time != "" {
		core += ".dev" + time
	}
	if devel != "" {
		core += ".dev0"
	}
	if local := strings.Trim(revision+"."+build, "."); local != "" {
		core += "+" + local
	}
	return core, nil
}
