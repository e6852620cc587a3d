package redact

import (
	"encoding/binary"
	"hash/crc32"
)

// The event stream of Amazon consists of messages:
//
// \t4 bytes length of the message
// \t4 bytes length of the headers
// \t4 bytes CRC-32 of these
// \t headers, payload
// \t4 bytes CRC-32 of all of these
//
// https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
const (
	preludeLength = 12
	sumLength     = 4
)

// messages visits the payloads of messages. It visits an incomplete message as text.
func (w *walker) messages(text string) string {
	out := patch{text: text}
	for at := 0; at < len(text); {
		w.event++
		left := text[at:]
		length, headers, ok := messageLength(left)
		if !ok {
			out.set(at, left, w.document(left))
			break
		}
		payload := left[preludeLength+headers : length-sumLength]
		if now := w.document(payload); now != payload {
			out.put(at, length, string(appendMessage(nil, left[preludeLength:preludeLength+headers], now)))
		}
		at += length
	}
	w.event = 0
	return out.whole()
}

func messageLength(text string) (length, headers int, ok bool) {
	if len(text) < preludeLength {
		return 0, 0, false
	}
	all := int64(binary.BigEndian.Uint32([]byte(text[:4])))
	head := int64(binary.BigEndian.Uint32([]byte(text[4:8])))
	if all > int64(len(text)) || head > all-preludeLength-sumLength {
		return 0, 0, false
	}
	return int(all), int(head), true
}

func appendMessage(dst []byte, headers, payload string) []byte {
	from := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(preludeLength+len(headers)+len(payload)+sumLength))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
	dst = append(append(dst, headers...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
}
