// Package clitest helps to test the commands of looptape.
package clitest

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// Terminal returns a world with these environment variables in which a terminal shows everything.
func Terminal(env map[string]string) (w *cli.World, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.World{
		In: strings.NewReader(""), Out: out, Err: err,
		Getenv: func(name string) string { return env[name] },
		Now:    func() time.Time { return time.Time{} }, OutTerminal: true, ErrTerminal: true,
		Environ: func() []string { return nil }, Token: func() string { return "TOKEN" }, Interrupted: context.WithCancel,
	}, out, err
}
