package main

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// maxBinary is the largest size of a binary, in bytes.
const maxBinary = 20_000_000

// libraries are those of the system that a binary may need when it starts.
var libraries = map[string][]string{
	"linux": nil,
	"darwin": {
		"/usr/lib/libSystem.B.dylib", "/usr/lib/libresolv.9.dylib",
		"/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation",
		"/System/Library/Frameworks/Security.framework/Versions/A/Security",
	},
	"windows": {"kernel32.dll"},
}

// inspect returns an error if a binary is not one of the command for the platform, which needs no other library, is
// stripped and is not larger than maxBinary.
func inspect(p Platform, data []byte, info *debug.BuildInfo) error {
	if len(data) > maxBinary {
		return fmt.Errorf("the binary has %d bytes, more than %d: find what makes it larger", len(data), maxBinary)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": p.OS, "GOARCH": p.Arch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if settings[key] != want {
			return fmt.Errorf("build information: %s is %q, want %q", key, settings[key], want)
		}
	}
	read := map[string]func([]byte) (contents, error){"linux": readELF, "darwin": readMachO, "windows": readPE}
	c, err := read[p.OS](data)
	if err != nil {
		return err
	}
	if c.arch != p.Arch {
		return fmt.Errorf("the binary is for %q, want %q", c.arch, p.Arch)
	}
	for _, name := range c.libraries {
		if !slices.Contains(libraries[p.OS], name) {
			return fmt.Errorf("the binary needs the library %q", name)
		}
	}
	for _, name := range c.sections {
		if name == ".symtab" || strings.Contains(name, "debug_") {
			return fmt.Errorf("the binary is not stripped: it has the section %q", name)
		}
	}
	return nil
}

// contents is what inspect reads from a binary.
type contents struct {
	arch      string // in the words of Go; empty if unknown
	libraries []string
	sections  []string
}

func readELF(data []byte) (c contents, err error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return c, err
	}
	c.arch = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine]
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return c, fmt.Errorf("the binary is not static")
		}
	}
	for _, s := range f.Sections {
		c.sections = append(c.sections, s.Name)
	}
	c.libraries, err = f.ImportedLibraries()
	return c, err
}

func readMachO(data []byte) (c contents, err error) {
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		return c, err
	}
	c.arch = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu]
	for _, s := range f.Sections {
		c.sections = append(c.sections, s.Name)
	}
	c.libraries, err = f.ImportedLibraries()
	return c, err
}

func readPE(data []byte) (c contents, err error) {
	f, err := pe.NewFile(bytes.NewReader(data))
	if err != nil {
		return c, err
	}
	// Go's linker also writes the section .symtab if it has no symbols.
	c.arch = map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[f.Machine]
	for _, s := range f.Sections {
		if s.Name != ".symtab" || f.NumberOfSymbols > 0 {
			c.sections = append(c.sections, s.Name)
		}
	}
	symbols, err := f.ImportedSymbols() // ImportedLibraries of debug/pe returns nothing
	for _, symbol := range symbols {
		_, library, _ := strings.Cut(symbol, ":")
		c.libraries = append(c.libraries, library)
	}
	return c, err
}
