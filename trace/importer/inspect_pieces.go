package importer

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// A sample in version 3 of the logs may be in pieces, entries of a folder of its own
// (src/inspect_ai/log/_recorders/chunked in github.com/UKGovernmentBEIS/inspect_ai):
//
//	sample.json         the sample, which refers to its messages by their numbers
//	metadata.json       its metadata
//	messages/N.json     a list of messages, of which the first has the number N
//	attachments/N.json  a list of texts, likewise, which others refer to by their numbers
//
// Its events, and what was sent in each call of a model, are pieces too. They are what
// makes samples so large that they come in pieces, and are not read.
const (
	samplesFolder = "samples/"
	firstPiece    = "/sample.json"
)

// sampleEntry is a sample in a ZIP.
type sampleEntry struct {
	*zip.File             // all of it, or its first piece
	pieces    []*zip.File // the others
}

func (s *sampleEntry) inPieces() bool { return strings.HasSuffix(s.Name, firstPiece) }

// folderOf returns the folder of the sample in pieces that an entry belongs to; "" if
// there is none. Pieces stand in the folder, or in a folder of that.
func folderOf(name string, byName map[string]*zip.File) string {
	for range 2 {
		i := strings.LastIndexByte(name, '/')
		if i < len(samplesFolder) {
			return ""
		}
		name = name[:i]
		if byName[name+firstPiece] != nil {
			return name
		}
	}
	return ""
}

// numbered returns the number in the name of a piece of a kind.
func (s *sampleEntry) numbered(piece *zip.File, kind string) (n int, ok bool) {
	folder := strings.TrimSuffix(s.Name, firstPiece)
	text, ok := strings.CutPrefix(piece.Name, folder+"/"+kind+"/")
	n, err := strconv.Atoi(strings.TrimSuffix(text, ".json"))
	return n, ok && err == nil
}

// scattered gives a sample in pieces. Of what cannot be read in them each piece is named;
// where a message of the sample is among that, its run ends before it.
func (w *walker) scattered(s sampleEntry) {
	conv := conversation{inspect: true, attached: map[string]string{}}
	said := map[int]llm.Message{}
	var metadata json.RawMessage
	for _, f := range s.pieces {
		if n, ok := s.numbered(f, "attachments"); ok {
			w.piece(f, func(d *jsonio.Dec) { conv.attach(d, n) })
		}
	}
	for _, f := range s.pieces {
		if n, ok := s.numbered(f, "messages"); ok {
			w.piece(f, func(d *jsonio.Dec) {
				for i, m := range conv.list(d) {
					said[n+i] = m
				}
			})
		}
		if f.Name == strings.TrimSuffix(s.Name, firstPiece)+"/metadata.json" {
			w.piece(f, func(d *jsonio.Dec) { metadata = json.RawMessage(d.Raw()) })
		}
	}
	read := w.read
	w.read = func(d *jsonio.Dec, run *Run) {
		found := false
		conv.sample(d, run, "message_refs", func(refs *jsonio.Dec) []llm.Message {
			found = true
			return referred(refs, said)
		})
		if !found {
			d.Fail("the sample has no message_refs")
		}
		if metadata != nil && run.Meta != nil {
			run.Meta["metadata"] = metadata
		}
	}
	w.entry(s.File, func(text string) { w.run(text, 1, "") })
	w.read = read
}

// piece reads a piece of a sample.
func (w *walker) piece(f *zip.File, read func(d *jsonio.Dec)) {
	w.entry(f, func(text string) {
		text = finite(text)
		d := jsonio.NewDec(text)
		read(&d)
		if err := d.End(); err != nil {
			w.give(Run{}, w.place(err, text, 1, ""))
		}
	})
}

// attach reads a list of attachments, of which the first has the number n.
func (c *conversation) attach(d *jsonio.Dec, n int) {
	d.Array()
	for first := true; d.More(&first); n++ {
		c.attached[strconv.Itoa(n)] = d.String()
	}
}

// referred returns the messages that ranges of numbers refer to: a list of the first of
// each and the one behind its last.
func referred(refs *jsonio.Dec, said map[int]llm.Message) (messages []llm.Message) {
	const most = 1 << 20 // a few bytes can refer to any number of them
	refs.Array()
	for first := true; refs.More(&first); {
		var ends []int
		refs.Array()
		for first := true; refs.More(&first); {
			ends = append(ends, int(refs.Int()))
		}
		if len(ends) != 2 {
			refs.Fail("expected the number of a message, and of the one behind the last")
			return messages
		}
		for n := ends[0]; n < ends[1]; n++ {
			m, ok := said[n]
			if !ok {
				refs.Fail(fmt.Sprintf("the message %d could not be read, or is not there", n))
				return messages
			}
			if len(messages) == most {
				refs.Fail(fmt.Sprintf("the sample refers to more than %d messages", most))
				return messages
			}
			messages = append(messages, m)
		}
	}
	return messages
}
