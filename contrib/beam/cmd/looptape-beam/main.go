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
	out, programs := ownFlags(flag.CommandLine)
	flag.Parse()
	evalbeam.Register()
	beam.Init()
	if err := run(context.Background(), *out, *programs, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "looptape-beam:", err)
		os.Exit(2)
	}
}

// ownFlags gives a set of flags those of this command; Beam's are flags of the process.
func ownFlags(f *flag.FlagSet) (out *string, programs *bool) {
	return f.String("o", "", "the `file` to write runs and scores to"), f.Bool("allow-programs", false, "start the programs that the suite names")
}

func run(ctx context.Context, out string, programs bool, names []string) error {
	if out == "" || len(names) == 0 {
		return errors.New("usage: looptape-beam -o OUT [flags of Beam] FILE…")
	}
	suite, files, err := evalbeam.Open(ctx, names)
	if err != nil {
		return err
	}
	suite.AllowPrograms = programs
	p, s := beam.NewPipelineWithRoot()
	evalbeam.Write(s, out, evalbeam.Score(s, suite, beam.CreateList(s, files)))
	return beamx.Run(ctx, p)
}
