package match

import (
	"bytes"
	"io"
	"slices"
)

// encoder returns a content-encoded body, truncated after its content unless it is complete.
type encoder func(plain []byte, complete bool) []byte

type compressor interface {
	io.WriteCloser
	Flush() error
}

// deflated returns an encoder that uses a compressor of the standard library.
func deflated(to func(io.Writer) compressor) encoder {
	return func(plain []byte, complete bool) []byte {
		var out bytes.Buffer
		z := to(&out)
		_, _ = z.Write(plain) // a buffer accepts all bytes
		if complete {
			_ = z.Close() // the same
		} else {
			_ = z.Flush() // the same
		}
		return out.Bytes()
	}
}

// storedFormat is a format with blocks that are not compressed. The encoders of brotli and zstd
// would be a tenth of a program with a cassette, for the few bodies with a secret.
type storedFormat struct {
	begin, end string
	block      func(n int) uint32 // the three bytes of a block's header, little-endian
}

var (
	// RFC 7932: a window of 64 KiB and an empty block up to the end of the byte, uncompressed
	// meta-blocks, and an empty last meta-block.
	storedBrotli = storedFormat{"\x0c", "\x03", func(n int) uint32 { return uint32(n-1)<<3 | 1<<19 }}
	// RFC 8878: a magic number and a window of 128 KiB, raw blocks, and an empty last block.
	storedZstd = storedFormat{"\x28\xb5\x2f\xfd\x00\x38", "\x01\x00\x00", func(n int) uint32 { return uint32(n) << 3 }}
)

// storedBlock is the size of a block; a meta-block of brotli with a length of 16 bits has at most
// 64 KiB.
const storedBlock = 1 << 16

func (f storedFormat) encode(plain []byte, complete bool) []byte {
	out := []byte(f.begin)
	for part := range slices.Chunk(plain, storedBlock) {
		b := f.block(len(part))
		out = append(append(out, byte(b), byte(b>>8), byte(b>>16)), part...)
	}
	if complete {
		out = append(out, f.end...)
	}
	return out
}
