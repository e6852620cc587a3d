// Command looptape plays, serves and checks runs of agent loops.
// `looptape help` lists what it does.
//
// Results go to standard output, words for people to standard error. The exit
// status is 0 if all held, 1 if something that the command checks did not hold,
// and 2 for wrong usage or input that cannot be read; where both came about it
// is 1.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
)

func main() {
	build, _ := debug.ReadBuildInfo()
	os.Exit(execute(os.Args[1:], &world{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		env:      os.Getenv,
		now:      time.Now,
		inTerm:   isatty.IsTerminal(os.Stdin.Fd()),
		outTerm:  isatty.IsTerminal(os.Stdout.Fd()),
		errTerm:  isatty.IsTerminal(os.Stderr.Fd()),
		versions: build,
		environ:  os.Environ,
		interrupted: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		},
	}))
}
