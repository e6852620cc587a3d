// Command looptape-beam scores recorded runs as a pipeline of Apache Beam, and writes what
// `looptape eval score -o` writes of the same files, or their statistics:
//
//	looptape-beam [-o OUT] [-summary OUT] [flags of Beam] FILE…
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
	"math"
	"os"
	"runtime/debug"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/looptape/looptape/contrib/beam"
)

func main() {
	o := ownFlags(flag.CommandLine)
	flag.Parse()
	if o.out == "" && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(summaryMemory)
		debug.SetGCPercent(-1)
	}
	evalbeam.Register()
	beam.Init()
	if err := run(context.Background(), o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "looptape-beam:", err)
		os.Exit(2)
	}
}

// summaryMemory is a soft limit for the memory of a worker, which collects garbage only there. So its peak does not
// depend on how much Beam reads ahead.
const summaryMemory = 200 << 20

type options struct {
	out, summary string
	programs     bool
}

// ownFlags gives a set of flags those of this command; Beam's are flags of the process.
func ownFlags(f *flag.FlagSet) *options {
	var o options
	f.StringVar(&o.out, "o", "", "the `file` to write runs and scores to")
	f.StringVar(&o.summary, "summary", "", "the `file` to write the statistics to, as JSON")
	f.BoolVar(&o.programs, "allow-programs", false, "start the programs that the suite names")
	return &o
}

func run(ctx context.Context, o *options, names []string) error {
	if o.out == "" && o.summary == "" || len(names) == 0 {
		return errors.New("usage: looptape-beam [-o OUT] [-summary OUT] [flags of Beam] FILE…")
	}
	suite, files, err := evalbeam.Open(ctx, names)
	if err != nil {
		return err
	}
	suite.AllowPrograms = o.programs
	p, s := beam.NewPipelineWithRoot()
	list := beam.CreateList(s, files)
	if o.out != "" {
		evalbeam.Write(s, o.out, evalbeam.Score(s, suite, list))
	}
	if o.summary != "" {
		evalbeam.Write(s, o.summary, evalbeam.Summarize(s, suite, list))
	}
	return beamx.Run(ctx, p)
}
