// Command looptape-beam scores recorded runs as a pipeline of Apache Beam, and writes what
// `looptape eval score -o` writes of the same files:
//
//	looptape-beam -o OUT [flags of Beam] FILE…
//
// The files are recordings, or a single suite file, named as on the command line of
// looptape or with a scheme of Beam, such as gs://. Without the flag -runner it runs in
// this process. Exit status: 0 if the result is written (or, with -async, the job begun),
// else 2. `looptape eval score OUT` prints the result and has its exit status.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/looptape/looptape/contrib/beam"
)

func main() {
	out := outFlag(flag.CommandLine)
	flag.Parse()
	evalbeam.Register()
	beam.Init()
	if err := run(context.Background(), *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "looptape-beam:", err)
		os.Exit(2)
	}
}

// outFlag gives a set of flags the one of this command; Beam's are flags of the process.
func outFlag(f *flag.FlagSet) *string {
	return f.String("o", "", "the `file` to write runs and scores to")
}

func run(ctx context.Context, out string, names []string) error {
	if out == "" || len(names) == 0 {
		return errors.New("usage: looptape-beam -o OUT [flags of Beam] FILE…")
	}
	suite, files, err := evalbeam.Open(ctx, names)
	if err != nil {
		return err
	}
	p, s := beam.NewPipelineWithRoot()
	evalbeam.Write(s, out, evalbeam.Score(s, suite, beam.CreateList(s, files)))
	return beamx.Run(ctx, p)
}
