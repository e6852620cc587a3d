package openai

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// responsesDec returns a decoder of a body.
func responsesDec(body []byte) (jsonio.Dec, error) {
	if jsonio.ValidUTF8(body) {
		return jsonio.NewDec(string(body)), nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && n == 1 {
			return jsonio.Dec{}, &jsonio.SyntaxError{Msg: "the text is not UTF-8", Offset: at}
		}
		at += n
	}
}

// appendKey appends the name of a member, with the comma before it.
func appendKey(dst []byte, key string) []byte {
	return append(jsonio.AppendString(append(dst, ','), key), ':')
}

// appendWord appends a member that is a string, with the comma before it.
func appendWord(dst []byte, key, value string) []byte {
	return jsonio.AppendString(appendKey(dst, key), value)
}

// appendSound appends a member that is any JSON value, with the comma before it.
// Surrogates without a partner do not reach the wire (quirk QT-09).
func appendSound(dst []byte, key string, raw []byte) []byte {
	return appendWell(appendKey(dst, key), raw)
}

// appendWell appends any JSON value as appendSound does.
func appendWell(dst, raw []byte) []byte {
	from := len(dst)
	dst = jsonio.AppendRaw(dst, raw)
	return append(dst[:from], wellFormed(jsonio.View(dst[from:]))...) // onto itself, if it is
}

// append appends the members of opaque data that own does not take out, each with the
// comma before it, but for those of other dialects: a history may have begun with
// another provider.
func (d dialect) append(dst []byte, opaque json.RawMessage, own func(key string) bool) []byte {
	eachMember(opaque, func(key, raw string) {
		if name, ok := d.wire(key); ok && !own(name) {
			dst = appendSound(dst, name, []byte(raw))
		}
	})
	return dst
}
