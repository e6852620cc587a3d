package responses

import (
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/openai/internal/api"
)

// responsesDec returns a decoder of a body.
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

// responsesOwn are those of the items of Responses.
var itemNames = api.MemberNames{Prefix: "responses:", Known: []string{"action", "content", "encrypted_content", "id", "namespace", "phase", "summary"}}

// pieceOwn are those of the pieces of their content. A text of the assistant has them
// beside those of its item.
var contentNames = api.MemberNames{Prefix: "responses_content:", Known: []string{"annotations", "detail", "file_id", "logprobs"}}
