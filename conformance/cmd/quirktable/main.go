// Command quirktable plays every quirk of the fake provider to the loops that others
// wrote, and to the project's own, and writes what came of it to
// docs/quirks-and-clients.md:
//
//	go run ./cmd/quirktable
//
// It needs Node.js and the packages of npm/ (npm ci there), and a quarter of an hour;
// with -only, to play some quirks again, less. The programs run on this machine alone,
// against servers on loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looptape/looptape/conformance/node"
)

func main() {
	jobs := flag.Int("jobs", 3, "how many clients play at once")
	only := flag.String("only", "", "play the quirks alone whose names begin with this, and keep what the page says of the others")
	why := flag.Bool("why", false, "say on standard error what stands behind each cell that is not ok")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{jobs: *jobs, log: os.Stderr, why: *why}
	if err := write(ctx, b, *only); err != nil {
		fmt.Fprintln(os.Stderr, "quirktable:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// page is what is written.
const page = "docs/quirks-and-clients.md"

// write plays the quirks whose names begin with only, and makes the page.
func write(ctx context.Context, b bench, only string) error {
	root, err := top()
	if err != nil {
		return err
	}
	if _, err := node.Dir(); err != nil {
		return err
	}
	all, err := players(root)
	if err != nil {
		return err
	}
	list, err := rows(root)
	if err != nil {
		return err
	}
	file := filepath.Join(root, page)
	found := map[place]string{}
	if only != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if found, err = kept(string(text), all, list); err != nil {
			return err
		}
	}
	few := slices.DeleteFunc(slices.Clone(list), func(r row) bool { return !strings.HasPrefix(r.name, only) })
	now, err := b.play(ctx, all, few)
	if err != nil {
		return err
	}
	maps.Copy(found, now)
	return os.WriteFile(file, []byte(document(all, list, found)), 0o644) //nolint:gosec // it is for all to read
}

// top is the folder of the repository.
func top() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := here; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, goldens)); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("no folder %s is in %s or above it", goldens, here)
}
