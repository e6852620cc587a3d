package redact

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/looptape/looptape/cassettes/recording"
)

// A secret in a body in UTF-16 is found, in both byte orders, with and without a byte order mark. Other
// bodies with zero bytes have none.
func TestUTF16(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		for _, c := range []struct {
			text string
			want bool
		}{
			{`{"text":"sk-ant-api03-q7Xz92LmPa8Kd31Rq7Xz92LmPa8Kd31R"}`, true}, {"\ufeff" + `{"password":"Tr0ub4dor&3"}`, true}, {"the password is Tr0ub4dor&3", true},
			{`{"text":"no secret, and naïve words of 12 letters"}`, false}, {"a", false},
		} {
			var body []byte
			for _, unit := range utf16.Encode([]rune(c.text)) {
				body = order.AppendUint16(body, unit)
			}
			x := &recording.Interaction{Response: recording.Response{Body: body}}
			if found := (&Rules{}).FindSecrets(x); (len(found) == 1) != c.want {
				t.Errorf("%s endian: %s: found %v, want one: %t", name, c.text, found, c.want)
			}
		}
	}
	for _, body := range []string{"\x00\x00\x00\x00\x00\x00\x00\x00sk-", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x01\x00", "\x00"} {
		x := &recording.Interaction{Response: recording.Response{Body: []byte(body)}}
		if found := (&Rules{}).FindSecrets(x); len(found) > 0 {
			t.Errorf("%q: found %v", body, found)
		}
	}
}
