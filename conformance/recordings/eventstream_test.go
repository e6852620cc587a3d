package recordings

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"
)

// fromEventStream converts the frames of Bedrock to server-sent events (application/vnd.amazon.eventstream, of "Amazon Transcribe, Event stream
// encoding"): the length of the frame, the length of its headers, a checksum of
// both; headers; the payload, {"bytes": base64 of one event, "p": padding}; a
// checksum of all before it.
func fromEventStream(frames []byte) ([]byte, error) {
	const prelude, sum = 12, 4
	var out bytes.Buffer
	for n := 0; len(frames) > 0; n++ {
		if len(frames) < prelude+sum {
			return nil, fmt.Errorf("frame %d: %d bytes are left", n, len(frames))
		}
		whole, headers := binary.BigEndian.Uint32(frames), binary.BigEndian.Uint32(frames[4:])
		if int(whole) > len(frames) || whole < headers+prelude+sum {
			return nil, fmt.Errorf("frame %d: %d bytes with %d of headers, and %d are left", n, whole, headers, len(frames))
		}
		frame := frames[:whole]
		frames = frames[whole:]
		for _, part := range [][]byte{frame[:prelude], frame} {
			body, want := part[:len(part)-sum], binary.BigEndian.Uint32(part[len(part)-sum:])
			if got := crc32.ChecksumIEEE(body); got != want {
				return nil, fmt.Errorf("frame %d: checksum %08x, want %08x", n, got, want)
			}
		}
		event, err := payload(frame[prelude+headers : len(frame)-sum])
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", n, err)
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", event.Type, event.data)
	}
	return out.Bytes(), nil
}

type frameEvent struct {
	Type string
	data []byte
}

func payload(text []byte) (e frameEvent, err error) {
	var p struct{ Bytes string }
	if err := json.Unmarshal(text, &p); err != nil {
		return e, err
	}
	if e.data, err = base64.StdEncoding.DecodeString(p.Bytes); err != nil {
		return e, err
	}
	if err := json.Unmarshal(e.data, &e); err != nil {
		return e, err
	}
	if e.Type == "" {
		return e, errors.New("an event without a type")
	}
	return e, nil
}

// TestEventStream reads a frame, and rejects invalid ones.
func TestEventStream(t *testing.T) {
	const headers, body = "hh", `{"bytes":"eyJ0eXBlIjoicGluZyJ9"}`
	var frame []byte
	frame = binary.BigEndian.AppendUint32(frame, uint32(12+len(headers)+len(body)+4))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(headers)))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(append(frame, headers...), body...)
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	got, err := fromEventStream(frame)
	if want := "event: ping\ndata: {\"type\":\"ping\"}\n\n"; string(got) != want || err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
	for i := range frame {
		broken := bytes.Clone(frame)
		broken[i] ^= 1
		if got, err := fromEventStream(broken); err == nil {
			t.Errorf("with another byte %d: %q", i, got)
		}
		if got, err := fromEventStream(frame[:i]); err == nil && i > 0 {
			t.Errorf("cut to %d bytes: %q", i, got)
		}
	}
}
