package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is how far back a zstd stream may refer, and so the memory that it
	// takes: what the zstd command takes unasked.
	maxWindow = 128 << 20
	// maxHeld is how long a value may be in what was compressed. A file that is not
	// compressed bounds by its own size what is held of it.
	maxHeld = 256 << 20
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// skipMagic begins what a zstd stream may begin with, behind a byte of 0x50 to 0x5f.
	skipMagic = []byte{0x2a, 0x4d, 0x18}
)

// errHeld is the error for a value that is longer than maxHeld.
var errHeld = fmt.Errorf("a value is longer than %d MiB when it is decompressed; decompress the file first if it is no bomb", maxHeld>>20)

// Plain takes off the compression that Open takes off, told by the first bytes.
func Plain(r io.Reader) (io.Reader, error) {
	plain, _, err := decompressed(bufio.NewReader(r))
	return plain, err
}

// decompressed takes off compression, told by the first bytes, and returns how much may
// be held of what comes.
func decompressed(br *bufio.Reader) (r io.Reader, most int, err error) {
	magic, err := br.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		r, err = gzip.NewReader(br)
		return r, maxHeld, err
	case bytes.Equal(magic, zstdMagic), len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], skipMagic):
		r, err = zstd.NewReader(br, zstdOptions...)
		return r, maxHeld, err
	}
	return br, math.MaxInt, nil
}

// zstdOptions bound the memory. Nothing is read ahead by another goroutine, which nobody
// would end.
var zstdOptions = []zstd.DOption{zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1)}
