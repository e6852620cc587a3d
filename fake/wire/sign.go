package wire

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/gemini"
)

// sign gives a turn the signatures that the real provider would, where the script
// has none: Anthropic's of thinking, and Gemini 3's of the first call.
func (p *play) sign(t *fake.Response) {
	switch {
	case t.Events != nil:
	case p.provider == Anthropic && t.Reasoning != "" && t.ReasoningOpaque == nil:
		t.ReasoningOpaque = signed("signature", t.Reasoning)
	case p.provider == Gemini && gemini.SignsCalls(p.request.Model) && len(t.Calls) > 0 && t.Calls[0].Opaque == nil:
		t.Calls = slices.Clone(t.Calls)
		c := &t.Calls[0]
		c.Opaque = signed("thoughtSignature", c.Name+c.Arguments+strings.Join(c.Chunks, ""))
	}
}

func signed(key, text string) []byte {
	return append(jsonio.AppendString([]byte(`{"`+key+`":`), signature(text)), '}')
}

// signatureMark is how the signatures begin that the server makes up. It is as long
// as whole groups of base64 are.
const signatureMark = "looptape:"

// signature is made up of what it signs, and of nothing else.
func signature(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes all
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%016x", signatureMark, h.Sum64()))
}

// madeSignature reports whether a signature is one that the server made up, or was
// before it was altered.
func madeSignature(s string) bool {
	return strings.HasPrefix(s, base64.StdEncoding.EncodeToString([]byte(signatureMark)))
}
