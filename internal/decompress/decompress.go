// Package decompress reads gzip and zstd streams in bounded memory.
package decompress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory of a zstd stream. The zstd command has the same default.
const maxWindow = 128 << 20

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// skipMagic follows a byte of 0x50 to 0x5f in a skippable zstd frame.
	skipMagic = []byte{0x2a, 0x4d, 0x18}
)

// ZstdOptions bound the memory of a zstd decoder. It starts no goroutine, because its
// callers do not close it.
var ZstdOptions = []zstd.DOption{zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1)}

// MaxHeld returns how many bytes of decompressed data with a compressed size may be held in memory: a small
// file can decompress to any size. Text is not compressed to less than a hundredth.
func MaxHeld(compressed int) int {
	const least, maxRatio = 32 << 20, 100
	return max(least, maxRatio*compressed)
}

// NewReader returns a reader of the decompressed content of r. It detects the compression
// by the first bytes; compressed is false if r is not compressed.
func NewReader(r io.Reader) (content io.Reader, compressed bool, err error) {
	magic := make([]byte, len(zstdMagic))
	n, err := io.ReadFull(r, magic)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, err
	}
	all := io.MultiReader(bytes.NewReader(magic[:n]), r)
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		content, err = gzip.NewReader(all)
		return content, true, err
	case bytes.Equal(magic, zstdMagic), magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], skipMagic):
		content, err = zstd.NewReader(all, ZstdOptions...)
		return content, true, err
	}
	return all, false, nil
}
