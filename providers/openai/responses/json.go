package responses

import (
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/codec"
)

// newDec returns a reader of a body.
func newDec(body []byte) (jsonio.Dec, error) {
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

// itemNames are the known opaque members of items.
var itemNames = codec.MemberNames{Prefix: "responses:", Known: []string{"action", "content", "encrypted_content", "id", "namespace", "phase", "summary"}}

// contentNames are the known opaque members of content parts. Text of the assistant has them in
// addition to those of its item.
var contentNames = codec.MemberNames{Prefix: "responses_content:", Known: []string{"annotations", "detail", "file_id", "logprobs"}}
