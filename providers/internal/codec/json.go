package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// Items counts the elements of an array, as [jsonio.Dec.Elements]. It skips any other value.
func Items(d *jsonio.Dec) iter.Seq[int] {
	return func(yield func(int) bool) {
		if d.Peek() != '[' {
			d.Skip()
			return
		}
		d.Elements()(yield)
	}
}

// String reads a string. It skips any other value and returns "".
func String(d *jsonio.Dec) string {
	if d.Peek() == '"' {
		return d.String()
	}
	d.Skip()
	return ""
}

// Text reads a string, or the JSON of any other value. It returns "" for null.
func Text(d *jsonio.Dec) string {
	switch {
	case d.Peek() == '"':
		return d.String()
	case d.Null():
		return ""
	}
	return d.Raw()
}

// Count reads a number of tokens. It returns 0 for any other value.
func Count(d *jsonio.Dec) int64 { return CountOr(d, 0) }

// CountOr reads a number of tokens. It returns otherwise for any other value.
func CountOr(d *jsonio.Dec, otherwise int64) int64 {
	const maxCount = 1 << 53
	if d.Peek()-'0' > 9 {
		d.Skip()
		return otherwise
	}
	if n := d.Float(); n <= maxCount {
		return int64(n)
	}
	return otherwise
}

// Beginning returns the first 200 bytes of a body, for an error.
func Beginning(body []byte) string {
	const maxBytes = 200
	text := strings.TrimSpace(string(body[:min(len(body), 4*maxBytes)]))
	if len(text) <= maxBytes {
		return text
	}
	end := maxBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// UnexpectedBody returns the error of a body that is no response of the protocol, such as
// the error page of a proxy.
func UnexpectedBody(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return errors.New("the response is empty")
	}
	return fmt.Errorf("the response does not have the format of the protocol; it begins with %q", Beginning(body))
}

// CutDataURL parses a data URL in base64.
func CutDataURL(url string) (mediaType string, data []byte, ok bool) {
	mediaType, text, found := strings.Cut(url, ";base64,")
	mediaType, isData := strings.CutPrefix(mediaType, "data:")
	if !found || !isData {
		return "", nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return mediaType, data, err == nil
}

// Depth returns how deeply arrays and objects nest in valid JSON.
func Depth[T JSON](raw T) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case inString:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// Compact returns a JSON value without white space.
func Compact[T JSON](raw T) json.RawMessage { return jsonio.AppendRaw(nil, []byte(raw)) }

// CompactText is Compact for a string, which it returns unchanged if it has no white space.
func CompactText(raw string) string {
	if strings.ContainsAny(raw, " \n\r\t") && !jsonio.IsCompact(raw) {
		return string(Compact(raw))
	}
	return raw
}

// AppendComma appends the comma before the next member or element of an open object or array.
func AppendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// AppendKey appends the name of the next member of an open object.
func AppendKey(dst []byte, key string) []byte {
	return append(jsonio.AppendString(AppendComma(dst), key), ':')
}

// AppendRaw appends a member of any type to an open object. It repairs lone surrogates.
func AppendRaw[T JSON](dst []byte, key string, raw T) []byte {
	return AppendValue(AppendKey(dst, key), raw)
}

// AppendValue appends JSON without white space and repairs lone surrogates (quirk QT-09).
func AppendValue[T JSON](dst []byte, raw T) []byte {
	from := len(dst)
	dst = jsonio.AppendRaw(dst, []byte(raw))
	RepairSurrogates(dst[from:])
	return dst
}

// JSON is a JSON value.
type JSON interface{ ~string | ~[]byte }

// EachMember returns the members of an object. Invalid JSON and other values have none.
func EachMember[T JSON](object T) iter.Seq2[string, string] {
	return func(yield func(key, raw string) bool) {
		text := string(object)
		if !jsonio.IsObject(text) {
			return
		}
		d := jsonio.NewValidDec(text)
		for key := range d.Members() {
			if !yield(key, d.Raw()) {
				return
			}
		}
	}
}

// EachElement returns the elements of an array. Other values have none.
func EachElement[T JSON](array T) iter.Seq[string] {
	return func(yield func(raw string) bool) {
		d := jsonio.NewDec(string(array))
		for range Items(&d) {
			if !yield(d.Raw()) {
				return
			}
		}
	}
}

// Get returns the value at a path of names, or nil.
func Get[T JSON](object T, path ...string) (value json.RawMessage) {
	for key, raw := range EachMember(object) {
		if key == path[0] {
			value = json.RawMessage(raw)
		}
	}
	if len(path) > 1 {
		return Get(value, path[1:]...)
	}
	return value
}

// GetString returns the value at a path if it is a string, or "".
func GetString[T JSON](object T, path ...string) string {
	raw := Get(object, path...)
	if raw == nil {
		return ""
	}
	d := jsonio.NewDec(jsonio.View(raw))
	return String(&d)
}

// Elements builds an array from elements that are copied unchanged. The zero value is empty.
type Elements []byte

// Add adds an element.
func (e *Elements) Add(raw string) {
	if *e == nil {
		*e = append(*e, '[')
	}
	*e = jsonio.AppendRaw(AppendComma(*e), []byte(raw))
}

// Array returns the array, or nil if it has no elements.
func (e Elements) Array() json.RawMessage {
	if e == nil {
		return nil
	}
	return json.RawMessage(append(e, ']'))
}

// RepairSurrogates overwrites each escape of a lone surrogate in JSON with \ufffd.
func RepairSurrogates(b []byte) {
	for at := range jsonio.LoneSurrogates(jsonio.View(b)) {
		copy(b[at:], `\ufffd`)
	}
}

// CleanName replaces each byte that no provider accepts in the name of a tool with "_".
func CleanName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			b[i] = '_'
		}
	}
	return string(b)
}
