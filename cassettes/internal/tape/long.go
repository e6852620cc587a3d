package tape

import (
	"bufio"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
)

// Sizes from which on the events of a response stay on disk.
const (
	longFile = 128 << 20
	longBody = 8 << 20 // of the lines
)

// omitted are lines of a response body that are only on disk.
type omitted struct {
	gap   gap
	at    int // in the text of the file
	lines int
}

func (f *File) omittedIn(e entry) (list []omitted) {
	for _, o := range f.omitted {
		if e.from < o.at && o.at < e.to {
			list = append(list, o)
		}
	}
	return list
}

// readLong reads a cassette of at least minFile bytes without bodies of responses whose lines have more
// than maxBody bytes. It returns nil if there are none.
func readLong(path string, minFile int64, maxBody int) (*File, error) {
	disk, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := disk.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() < minFile {
		return nil, errors.Join(err, disk.Close())
	}
	r := &longReader{file: &File{Name: path}, disk: disk, maxBody: maxBody, sumEnd: info.Size() - int64(len("crc 00000000\n"))}
	if err := r.read(); err != nil || r.file.omitted == nil {
		return nil, errors.Join(err, disk.Close())
	}
	return r.file.parsed() // it uses disk as long as it lives
}

// longReader reads a file line by line.
type longReader struct {
	file    *File
	disk    *os.File
	maxBody int
	sumEnd  int64 // the end of the bytes that the checksum covers

	at     int64 // in the file on disk
	header bool  // the line before ends the header of a response
	// run is the number of successive lines of a response body, and text and disk are the positions of
	// the second one.
	run      int
	textFrom int
	diskFrom int64
	omitting bool
}

func (r *longReader) read() error {
	in := bufio.NewReaderSize(r.disk, 1<<20)
	if first, err := in.Peek(len(magic)); err != nil || string(first) != magic {
		return nil //nolint:nilerr // the usual reader reports it
	}
	for start := true; ; {
		part, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return err
		}
		if start {
			r.begin(part)
		}
		r.add(part)
		if errors.Is(err, io.EOF) {
			r.end()
			return nil
		}
		start = err == nil
	}
}

// begin takes the beginning of a line.
func (r *longReader) begin(line []byte) {
	inBody := r.run > 0 || r.header
	r.header = string(line) == "<\n"
	if !inBody || !bytes.HasPrefix(line, []byte("< ")) {
		r.end()
		return
	}
	if r.run++; r.run == 2 {
		r.textFrom, r.diskFrom = len(r.file.text), r.at
	}
}

func (r *longReader) add(part []byte) {
	if sum := min(int64(len(part)), r.sumEnd-r.at); sum > 0 {
		r.file.sum = crc32.Update(r.file.sum, castagnoli, part[:sum])
	}
	r.at += int64(len(part))
	if r.omitting {
		return
	}
	r.file.text = append(r.file.text, part...)
	if r.run > 1 && len(r.file.text)-r.textFrom > r.maxBody {
		r.file.text, r.omitting = r.file.text[:r.textFrom], true
	}
}

// end ends the successive lines of a body before the current one.
func (r *longReader) end() {
	if r.omitting {
		r.file.omitted = append(r.file.omitted, omitted{gap{r.disk, r.diskFrom, r.at}, r.textFrom, r.run - 1})
	}
	r.run, r.omitting = 0, false
}
