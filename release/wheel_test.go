package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPythonVersions lists versions of Go modules in their order, which is also that of the versions of Python.
func TestPythonVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v0.0.0-20261129184224-f4c165bcabcd":        "0.0.0.dev20261129184224+f4c165bcabcd",
		"v0.0.0-20261129184224-f4c165bcabcd+dirty":  "0.0.0.dev20261129184224+f4c165bcabcd.dirty",
		"v1.2.3-alpha.1":                            "1.2.3a1",
		"v1.2.3-beta2":                              "1.2.3b2",
		"v1.2.3-rc.1":                               "1.2.3rc1",
		"v1.2.3-rc.1.0.20261129184224-f4c165bcabcd": "1.2.3rc2.dev20261129184224+f4c165bcabcd",
		"v1.2.3-rc.2":                               "1.2.3rc2",
		"v1.2.3":                                    "1.2.3",
		"v1.2.3+dirty":                              "1.2.3+dirty",
		"v1.2.4-0.20261129184224-f4c165bcabcd":      "1.2.4.dev20261129184224+f4c165bcabcd",
		"v0.0.0-devel":                              "0.0.0.dev0",
		"v1.2.3-preview":                            "",
		"v1.2.3-rc.99999999999999999999":            "",
		"v1.2":                                      "",
		"(devel)":                                   "",
	} {
		if got, err := pythonVersion(version); got != want || (err == nil) != (want != "") {
			t.Errorf("pythonVersion(%q) = %q, %v, want %q", version, got, err, want)
		}
	}
}

// unzipped returns the files of an archive.
func unzipped(t *testing.T, data []byte) map[string]file {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]file{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = file{f.Name, f.Mode(), data}
	}
	return files
}

func TestWheels(t *testing.T) {
	b := &Build{Version: "v1.2.3", Source: ".."}
	for _, p := range platforms {
		b.Binaries = append(b.Binaries, Binary{Platform: p, Data: []byte(p.String()), Licenses: []file{
			{"LICENSE", 0o644, []byte("a license")}, {"licenses/example.com/a/LICENSE", 0o644, []byte("another")},
		}})
	}
	wheel, err := wheels(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := wheels(b)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, f := range wheel {
		names = append(names, f.name)
		if !bytes.Equal(f.data, again[i].data) {
			t.Errorf("%s differs when it is written again", f.name)
		}
		checkWheel(t, f, b.Binaries[i])
	}
	if want := []string{
		"python/looptape-1.2.3-py3-none-macosx_12_0_x86_64.whl",
		"python/looptape-1.2.3-py3-none-macosx_12_0_arm64.whl",
		"python/looptape-1.2.3-py3-none-manylinux_2_17_x86_64.musllinux_1_2_x86_64.whl",
		"python/looptape-1.2.3-py3-none-manylinux_2_17_aarch64.musllinux_1_2_aarch64.whl",
		"python/looptape-1.2.3-py3-none-win_amd64.whl",
		"python/looptape-1.2.3-py3-none-win_arm64.whl",
	}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	b.Source = t.TempDir()
	if _, err := wheels(b); err == nil || !strings.Contains(err.Error(), "release/python/looptape/*.py") {
		t.Errorf("got the error %v, want the missing files", err)
	}
}

// checkWheel compares the contents of a wheel with RECORD, WHEEL and METADATA.
func checkWheel(t *testing.T, wheel file, binary Binary) {
	t.Helper()
	files := unzipped(t, wheel.data)
	info := "looptape-1.2.3.dist-info/"
	records, err := csv.NewReader(bytes.NewReader(files[info+"RECORD"].data)).ReadAll()
	if err != nil || len(records) != len(files) {
		t.Fatalf("%s: RECORD has %d files of %d, %v", wheel.name, len(records), len(files), err)
	}
	for _, r := range records {
		f := files[r[0]]
		sum := sha256.Sum256(f.data)
		want := []string{f.name, "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), strconv.Itoa(len(f.data))}
		if f.name == info+"RECORD" {
			want = []string{f.name, "", ""}
		}
		if !slices.Equal(r, want) {
			t.Errorf("%s: RECORD has %q, want %q", wheel.name, r, want)
		}
		if mode := map[bool]string{true: "-rwxr-xr-x", false: "-rw-r--r--"}[strings.HasPrefix(f.name, "looptape/bin/")]; f.mode.String() != mode {
			t.Errorf("%s: %s has mode %s, want %s", wheel.name, f.name, f.mode, mode)
		}
	}
	if got := string(files["looptape/bin/"+binary.Executable()].data); got != binary.String() {
		t.Errorf("%s: the binary is %q, want %q", wheel.name, got, binary.String())
	}
	// The tags are also in the name.
	tags := strings.Split(strings.TrimSuffix(wheel.name[strings.Index(wheel.name, "py3-none-"):], ".whl"), ".")
	want := "Wheel-Version: 1.0\nGenerator: looptape\nRoot-Is-Purelib: false\nTag: " + strings.Join(tags, "\nTag: py3-none-") + "\n"
	if got := string(files[info+"WHEEL"].data); got != want {
		t.Errorf("%s: WHEEL is %q, want %q", wheel.name, got, want)
	}
	metadata, _, _ := strings.Cut(string(files[info+"METADATA"].data), "\n\n")
	for _, line := range []string{"Name: looptape", "Version: 1.2.3", "License-File: LICENSE", "License-File: example.com/a/LICENSE"} {
		if !slices.Contains(strings.Split(metadata, "\n"), line) {
			t.Errorf("%s: METADATA lacks %q:\n%s", wheel.name, line, metadata)
		}
	}
	if got := string(files[info+"licenses/example.com/a/LICENSE"].data); got != "another" {
		t.Errorf("%s: the license is %q", wheel.name, got)
	}
}
