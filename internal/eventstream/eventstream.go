// Package eventstream reads and writes application/vnd.amazon.eventstream, the form in which
// Amazon Bedrock streams responses. A stream is a sequence of messages, with big-endian numbers:
//
//	4 bytes  length of the message
//	4 bytes  length of the headers
//	4 bytes  CRC-32 (IEEE) of these 8 bytes
//	headers, payload
//	4 bytes  CRC-32 of all bytes before
//
// See https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html.
package eventstream

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"slices"
)

// MediaType is the media type of a stream.
const MediaType = "application/vnd.amazon.eventstream"

const (
	preludeLength = 12
	sumLength     = 4
)

// Message is a message of a stream. Its slices share the memory of the stream.
type Message struct {
	Headers []byte // encoded
	Payload []byte
	Len     int // of the message, in bytes
	sound   bool
}

// Next returns the first message of a stream, without checking its checksums.
func Next(stream []byte) (Message, error) {
	if len(stream) < preludeLength {
		return Message{}, fmt.Errorf("truncated message: got %d bytes", len(stream))
	}
	length, headers := int64(binary.BigEndian.Uint32(stream)), int64(binary.BigEndian.Uint32(stream[4:]))
	sound := crc32.ChecksumIEEE(stream[:8]) == binary.BigEndian.Uint32(stream[8:])
	switch {
	case headers > length-preludeLength-sumLength:
		return Message{}, fmt.Errorf("invalid lengths: message of %d bytes with %d bytes of headers", length, headers)
	case length > int64(len(stream)) && !sound:
		return Message{}, errChecksum
	case length > int64(len(stream)):
		return Message{}, fmt.Errorf("truncated message: got %d of %d bytes", len(stream), length)
	}
	end := length - sumLength
	return Message{
		Headers: stream[preludeLength : preludeLength+headers], Payload: stream[preludeLength+headers : end], Len: int(length),
		sound: sound && crc32.ChecksumIEEE(stream[:end]) == binary.BigEndian.Uint32(stream[end:]),
	}, nil
}

// Append appends a message with these encoded headers.
func Append(dst, headers, payload []byte) []byte {
	from := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(preludeLength+len(headers)+len(payload)+sumLength))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
	dst = append(append(dst, headers...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
}

// Event is what a message carries.
type Event struct {
	// Type is event, exception or error.
	Type string
	// Name is the name of the event, the exception or the error, such as contentBlockDelta.
	Name    string
	Payload []byte // usually JSON; empty for an error
	// Message describes an error.
	Message string
}

var errChecksum = errors.New("checksum mismatch: the recording is damaged: record it again")

// Events yields the events of a stream in their order. It stops at the first damaged message,
// with an error that has its number and its offset.
func Events(stream []byte) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for at, n := 0, 1; at < len(stream); n++ {
			m, err := Next(stream[at:])
			var e Event
			if err == nil {
				e, err = m.event()
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("message %d of the event stream (byte %d): %w", n, at, err))
				return
			}
			if !yield(e, nil) {
				return
			}
			at += m.Len
		}
	}
}

func (m *Message) event() (Event, error) {
	if !m.sound {
		return Event{}, errChecksum
	}
	h, err := headers(m.Headers)
	if err != nil {
		return Event{}, err
	}
	return Event{
		Type: h[":message-type"], Name: cmp.Or(h[":event-type"], h[":exception-type"], h[":error-code"]),
		Payload: m.Payload, Message: h[":error-message"],
	}, nil
}

// valueLengths are the lengths of the values of headers by their type: true, false, byte, short,
// integer, long, bytes, string, timestamp, UUID. A negative length precedes the value in 2 bytes.
var valueLengths = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

const stringType = 7

// headers returns the headers that are strings.
func headers(encoded []byte) (map[string]string, error) {
	out := map[string]string{}
	_, err := Rewrite(encoded, func(name, value string) string {
		out[name] = value
		return value
	})
	return out, err
}

// Rewrite returns encoded headers with new values of those that are strings. Each header has a name after its
// length in a byte, a byte for the type, and a value. A value that is too long for a header stays.
func Rewrite(encoded []byte, value func(name, value string) string) ([]byte, error) {
	out := make([]byte, 0, len(encoded))
	for rest := encoded; len(rest) > 0; {
		at := 1 + int(rest[0])
		if at >= len(rest) || int(rest[at]) >= len(valueLengths) {
			return nil, fmt.Errorf("invalid header at byte %d", len(encoded)-len(rest))
		}
		name, kind := string(rest[1:at]), rest[at]
		at++
		length := valueLengths[kind]
		if length < 0 && at+2 <= len(rest) {
			length = int(binary.BigEndian.Uint16(rest[at:]))
			at += 2
		}
		if length < 0 || at+length > len(rest) {
			return nil, fmt.Errorf("header %q: truncated value", name)
		}
		header := rest[:at+length]
		if kind == stringType {
			was := string(rest[at : at+length])
			if now := value(name, was); now != was && len(now) <= math.MaxUint16 {
				header = append(binary.BigEndian.AppendUint16(slices.Clone(rest[:at-2]), uint16(len(now))), now...)
			}
		}
		out = append(out, header...)
		rest = rest[at+length:]
	}
	return out, nil
}
