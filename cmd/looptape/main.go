// Command looptape runs, serves, records, checks and scores runs of agent loops.
// `looptape help` lists the commands.
//
// Results go to standard output, messages for people to standard error. The exit status
// is 0 if every check held, 1 if a check failed, and 2 for wrong usage or input that
// cannot be read. If 1 and 2 both apply, it is 1.
package main

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/root"
)

func main() {
	build, _ := debug.ReadBuildInfo()
	os.Exit(int(execute(os.Args[1:], &cli.World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv:      os.Getenv,
		Now:         time.Now,
		InTerminal:  isatty.IsTerminal(os.Stdin.Fd()),
		OutTerminal: isatty.IsTerminal(os.Stdout.Fd()),
		ErrTerminal: isatty.IsTerminal(os.Stderr.Fd()),
		Build:       build,
		Environ:     os.Environ,
		Token:       rand.Text,
		Interrupted: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		},
	})))
}

// execute runs one command line and returns the exit status. It discards the log of package net/http, which has
// bytes of servers as they came.
func execute(args []string, w *cli.World) cli.Status {
	log.SetOutput(io.Discard)
	return cli.Execute(root.New(w), args, w)
}
