// Command quirktable runs loops of other projects, and looptape's own, against each quirk of the
// fake provider. It writes the results to docs/quirks-and-clients.md:
//
//	go run ./cmd/quirktable
//
// It needs Node.js and the packages of npm/ (npm ci there), and a quarter of an hour. With -only it
// runs some quirks again, which is faster. The programs use only servers on loopback.
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
	jobs := flag.Int("jobs", 3, "`number` of concurrent clients")
	only := flag.String("only", "", "run only the quirks whose names begin with this `prefix`, and keep the other cells of the page")
	why := flag.Bool("why", false, "explain each cell that is not ok on standard error")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := runner{jobs: *jobs, log: os.Stderr, why: *why}
	if err := write(ctx, b, *only); err != nil {
		fmt.Fprintln(os.Stderr, "quirktable:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// page is the generated page.
const page = "docs/quirks-and-clients.md"

// write runs the quirks whose names begin with only, and writes the page.
func write(ctx context.Context, b runner, only string) error {
	root, err := top()
	if err != nil {
		return err
	}
	if _, err := node.Dir(); err != nil {
		return err
	}
	all, err := newClients(root)
	if err != nil {
		return err
	}
	list, err := rows(root)
	if err != nil {
		return err
	}
	file := filepath.Join(root, page)
	found := map[cellKey]string{}
	if only != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if found, err = readCells(string(text), all, list); err != nil {
			return err
		}
	}
	selected := slices.DeleteFunc(slices.Clone(list), func(r row) bool { return !strings.HasPrefix(r.name, only) })
	now, err := b.run(ctx, all, selected)
	if err != nil {
		return err
	}
	maps.Copy(found, now)
	return os.WriteFile(file, []byte(document(all, list, found)), 0o644) //nolint:gosec // a public page
}

// top returns the folder of the repository.
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
	return "", fmt.Errorf("missing folder %s in %s and above", goldens, here)
}
