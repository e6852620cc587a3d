package evalbeam

import (
	"context"
	"errors"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// Write replaces the file of this name with the element of the collection that Score returns. A
// reader detects a truncated file.
func Write(s beam.Scope, name string, result beam.PCollection) {
	beam.ParDo0(s.Scope("looptape.Write"), &writer{name}, result)
}

type writer struct{ Name string }

// ProcessElement writes this text. A runner that tries it again writes the same.
func (f *writer) ProcessElement(ctx context.Context, text []byte) error {
	return on(ctx, f.Name, func(fs filesystem.Interface) error {
		w, err := fs.OpenWrite(ctx, f.Name)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return errors.Join(err, w.Close())
	})
}
