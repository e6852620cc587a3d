package main

import (
	"fmt"
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

// parsePlatforms reads a list such as "linux/amd64,darwin/arm64". It returns the platforms sorted.
func parsePlatforms(list string) (chosen []Platform, err error) {
	wanted := strings.Split(list, ",")
	for _, name := range wanted {
		if !slices.Contains(names(platforms), name) {
			return nil, fmt.Errorf("unknown platform %q: want some of %s", name, strings.Join(names(platforms), ","))
		}
	}
	for _, p := range platforms {
		if slices.Contains(wanted, p.String()) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}
