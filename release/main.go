// Command release builds the packages of one version of looptape: an archive, an npm package and a wheel
// for each platform, and SHA256SUMS. It builds what is committed. See docs/releasing.md.
//
//	cd release && go run . [-out DIR] [-platforms linux/amd64,…] [-version V] [-allow-dirty]
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
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err == nil:
		err = run(ctx, o, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	repository string // a folder in a clone of the repository
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
	flags.BoolVar(&o.allowDirty, "allow-dirty", false, "build the working tree, with changes that are not committed")
	list := flags.String("platforms", strings.Join(names(platforms), ","), "`list` of platforms")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	o.platforms, err = parsePlatforms(*list)
	return o, err
}

// run builds the packages and writes them. It prints SHA256SUMS.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := checkOut(o.out); err != nil {
		return err
	}
	b, err := build(ctx, o)
	if err != nil {
		return err
	}
	defer b.Close()
	files, err := b.packages()
	if err != nil {
		return err
	}
	files = append(files, sums(files))
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := replaceFolder(o.out, files); err != nil {
		return err
	}
	_, err = out.Write(files[len(files)-1].data)
	return err
}
