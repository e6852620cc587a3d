package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is how far back a zstd stream may refer, and so the memory that it
	// takes: what the zstd command takes unasked.
	maxWindow = 128 << 20
	// A value may be so long in what was compressed, and up to maxHeld where it was not
	// compressed to less than one part in maxRatio, as texts are not. A file that is not
	// compressed bounds by its own size what is held of it.
	sureHeld = 32 << 20
	maxHeld  = 256 << 20
	maxRatio = 100
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// skipMagic begins what a zstd stream may begin with, behind a byte of 0x50 to 0x5f.
	skipMagic = []byte{0x2a, 0x4d, 0x18}
)

// holdable is how long a value may be in what came in so many bytes, and so a run that is
// read value by value, but that there is no end to the length of a run of a long file.
func holdable(compressed int64) (value, run int) {
	run = max(sureHeld, maxRatio*int(compressed))
	return min(maxHeld, run), run
}

// heldError is the error for what is longer than may be held, in bytes.
type heldError int

func (e heldError) Error() string {
	return fmt.Sprintf("more than %d MiB would have to be held of what is decompressed; decompress the file first if it is no bomb", e>>20)
}

// counter counts what is read.
type counter struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// Plain takes off the compression that Open takes off, told by the first bytes.
func Decompress(r io.Reader) (io.Reader, error) {
	plain, _, err := decompressed(bufio.NewReader(r))
	return plain, err
}

// decompressed takes off compression, told by the first bytes, if there is any.
func decompressed(br *bufio.Reader) (r io.Reader, packed bool, err error) {
	magic, err := br.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		r, err = gzip.NewReader(br)
		return r, true, err
	case bytes.Equal(magic, zstdMagic), len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], skipMagic):
		r, err = zstd.NewReader(br, zstdOptions...)
		return r, true, err
	}
	return br, false, nil
}

// zstdOptions bound the memory. Nothing is read ahead by another goroutine, which nobody
// would end.
var zstdOptions = []zstd.DOption{zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1)}
