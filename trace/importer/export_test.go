package importer

import (
	"io"

	fileformat "github.com/looptape/looptape/trace/importer/internal/format"
)

// SetBatchSize sets the minimum length of the values that are read concurrently, and returns a
// function that restores it.
func SetBatchSize(size int) (restore func()) {
	old := batchSize
	batchSize = size
	return func() { batchSize = old }
}

// FormatNames returns the names of all formats.
func FormatNames() (names []string) {
	for _, f := range formats() {
		names = append(names, f.Name)
	}
	return names
}

// OpenAs opens a recording as one of a format, whether or not the format recognizes it. Text that is not
// JSON is opened as by [Open].
func OpenAs(name, format string, r io.Reader) (*Source, error) {
	return open(name, r, nil, func(h *fileformat.Head) (Format, fileformat.Layout, bool) {
		for _, f := range formats() {
			if f.Name == format && f.sniff != nil && !h.CSV {
				layout, _ := f.sniff(h)
				return f, layout, true
			}
		}
		return sniff(h)
	})
}
