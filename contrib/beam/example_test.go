package evalbeam_test

import (
	"context"
	"flag"
	"log"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local" // and more of them
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/looptape/looptape/contrib/beam"
)

// A program scores the recordings that a file names, one per line.
func Example() {
	names := flag.String("names", "", "the file that names recordings")
	out := flag.String("o", "", "the file to write")
	flag.Parse()
	evalbeam.Register()
	beam.Init()

	p, s := beam.NewPipelineWithRoot()
	files := textio.Read(s, *names)
	evalbeam.Write(s, *out, evalbeam.Score(s, evalbeam.Suite{}, files))
	if err := beamx.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
}
