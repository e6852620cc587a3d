package importer

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/decompress"
)

// decodedSize limits the size of all bodies of a recording after decoding, which are held in memory: small
// bodies can decode to any size.
type decodedSize struct{ recorded, decoded int }

// decode returns the interaction with decoded bodies, and their size. It leaves a body that cannot be
// decoded as it is. It returns an error if the bodies exceed the limit.
func (s *decodedSize) decode(x *recording.Interaction) (out *recording.Interaction, size int, err error) {
	recorded := len(x.Request.Body) + len(x.Response.Body)
	s.recorded += recorded
	decoded := *x
	size = decodeBody(&decoded.Request.Header, &decoded.Request.Body) + decodeBody(&decoded.Response.Header, &decoded.Response.Body)
	if limit := decompress.MaxHeld(s.recorded); size > recorded && s.decoded+size > limit {
		return x, recorded, fmt.Errorf("the limit of %d MiB for decoded bodies of the file is exceeded: record it again without compression", limit>>20)
	}
	s.decoded += size
	return &decoded, size, nil
}

// decodeBody decodes a body, if that is possible, and returns the size of its content.
func decodeBody(h *http.Header, body *[]byte) int {
	const name = "Content-Encoding"
	if len(*body) == 0 || len((*h)[name])+len((*h)[strings.ToLower(name)]) == 0 {
		return len(*body)
	}
	text, err := cassettes.Decompress(*h, *body)
	if err == nil {
		*h, *body = h.Clone(), text
		delete(*h, name)
		delete(*h, strings.ToLower(name))
	}
	return len(text)
}
