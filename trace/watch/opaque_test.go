package watch

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// echoing is a protocol whose requests are the opaque data of their message.
type echoing struct {
	protocol.Protocol
	sent, read error
	empty      bool
}

func (p echoing) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	return &protocol.Request{Path: "/say", Body: req.Messages[0].Opaque}, p.sent
}

func (p echoing) DecodeRequest(path string, body []byte) (*llm.Request, error) {
	if p.empty {
		return &llm.Request{}, p.read
	}
	return &llm.Request{Messages: []llm.Message{{Opaque: json.RawMessage(path + string(body))}}}, p.read
}

// A request contains the opaque data that the protocol both writes and reads, or none.
func TestReturnedOpaque(t *testing.T) {
	oops := errors.New("oops")
	for name, c := range map[string]struct {
		p    echoing
		want string
	}{
		"read":       {echoing{}, "/say{}"},
		"not sent":   {echoing{sent: oops}, ""},
		"not read":   {echoing{read: oops}, ""},
		"no message": {echoing{empty: true}, ""},
	} {
		if got := string(returnedOpaque(c.p, json.RawMessage("{}"))); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := returnedOpaque(echoing{}, nil); got != nil {
		t.Errorf("without opaque data: got %q", got)
	}
}
