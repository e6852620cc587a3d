package wire

import (
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/strict"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
)

// CheckConversation returns the violation of a recorded request whose tools or messages the
// provider rejects, by the first rule of docs/strict-server.md that the body shows alone; nil if
// there is none. It checks neither the settings nor what depends on earlier responses. The body is
// one that the codec of the protocol has decoded.
func CheckConversation(p protocol.Protocol, model string, body []byte) []check.Violation {
	e := strict.CheckConversation(p.Name(), model, body)
	if e == nil {
		return nil
	}
	v := rejection(e)
	v.Message += ": " + strings.TrimSpace(e.Message)
	return []check.Violation{v}
}

// rejection returns the violation of a request that the provider rejects.
func rejection(e *strict.Error) check.Violation {
	v := check.Violation{Invariant: strict.Breaks(e.ID), Event: check.NoEvent, Message: "the provider rejects the request"}.WithHint()
	if e.ID == "" {
		v.Hint = noRuleHint
	} else {
		v.Message += " by rule " + e.ID
	}
	return v
}
