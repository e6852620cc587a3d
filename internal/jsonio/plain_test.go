package jsonio

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plain finds a byte that needs an escape at every position, for any bytes before and after it.
func TestPlainFindsEachByte(t *testing.T) {
	for _, around := range []byte{'a', ' ', '!', '#', '[', ']', 0x7f, 0x80, 0xa0, 0xa2, 0xdc, 0xff} {
		text := strings.Repeat(string([]byte{around}), 24)
		if got := plain(text, 0); got != 24 {
			t.Errorf("plain of 24 times %#x is %d", around, got)
		}
		for c := range 256 {
			for at := range 24 {
				s := text[:at] + string([]byte{byte(c)}) + text[at+1:]
				want := 24
				if c < 0x20 || c == '"' || c == '\\' {
					want = at
				}
				for from := range min(want, 9) + 1 {
					if got := plain(s, from); got != want {
						t.Errorf("plain(%q, %d) = %d, want %d", s, from, got, want)
					}
				}
			}
		}
	}
}

func TestStringAgreesWithEncodingJSON(t *testing.T) {
	pieces := rapid.SliceOf(rapid.OneOf(
		rapid.StringMatching(`[a-zü€ ]{0,12}`),
		rapid.SampledFrom([]string{`\"`, `\\`, `\n`, `\/`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `"`, `\`, `\x`, `\u12`, "\n", "\x1f", "\x7f"}),
	))
	rapid.Check(t, func(t *rapid.T) {
		text := `"` + strings.Join(pieces.Draw(t, "pieces"), "") + `"`
		var want string
		wantErr := json.Unmarshal([]byte(text), &want)
		d := NewDec(text)
		got := d.String()
		if err := d.End(); (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: got error %v, encoding/json returned %v", text, err, wantErr)
		}
		if wantErr == nil && got != want {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
	})
}
