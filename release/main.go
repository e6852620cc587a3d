// Command release builds the packages of one version of looptape: an archive, an npm package and a wheel
// for each platform, and SHA256SUMS. See docs/releasing.md.
//
//	cd release && go run . [-out DIR] [-platforms linux/amd64,…] [-version V]
//
// It needs git, Go and, unless they are in the module cache, the dependencies of looptape.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	repository string // the folder of a clone of the repository
	out        string
	platforms  []Platform
	version    string // required version; empty for any
	allowDirty bool
}

func parse(arguments []string, errs io.Writer) (options, error) {
	o := options{repository: ".."}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.out, "out", "../dist", "`folder` of the packages; an earlier release in it is replaced")
	flags.StringVar(&o.version, "version", "", "fail unless the commit has this `version`, such as v1.2.3")
	flags.BoolVar(&o.allowDirty, "allow-dirty", false, "build the working tree although it differs from the commit, or has no version")
	names := flags.String("platforms", strings.Join(names(platforms), ","), "`list` of platforms")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	o.platforms, err = parsePlatforms(*names)
	return o, err
}

// run builds all packages.
func run(ctx context.Context, o options, out io.Writer) error {
	b, err := build(ctx, o)
	if err != nil {
		return err
	}
	return b.write(o.out, out)
}
