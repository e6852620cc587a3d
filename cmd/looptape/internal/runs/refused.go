package runs

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
	"github.com/looptape/looptape/internal/tabular"
	"github.com/looptape/looptape/trace/importer"
)

// refused are requests that the provider rejected as invalid, for a reason that check does not know.
type refused struct {
	Request string `json:"request"`
	Status  int    `json:"status"`
	Message string `json:"message"` // of the provider; empty if the response has none
	First   int    `json:"first"`   // the number of the interaction
	Times   int    `json:"times"`
}

// refusal returns what the provider rejected in a request; ok is false if it did not reject it as invalid.
func refusal(x *importer.Exchange) (r refused, ok bool) {
	const maxMessage = 200
	if ok = x.Status == http.StatusBadRequest || x.Status == http.StatusUnprocessableEntity; !ok {
		return r, false
	}
	message := &recording.Interaction{Response: recording.Response{Body: []byte(providerMessage(x.Body))}}
	clean, _ := new(redact.Rules).Scrubbed(message)
	return refused{Request: x.Title, Status: x.Status, Message: tabular.Short(string(clean.Response.Body), maxMessage)}, ok
}

// providerMessage returns the message in the body of an error: the member message or detail, in error or not, or
// error itself, also in a list. A body that is not JSON is the message.
func providerMessage(body []byte) string {
	body = bytes.TrimSpace(body)
	if !json.Valid(body) {
		return string(body)
	}
	for {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
			continue
		}
		var text string
		if json.Unmarshal(body, &text) == nil {
			return text
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(body, &object) != nil {
			return ""
		}
		body = nil
		for _, name := range []string{"error", "message", "Message", "detail", "msg"} {
			if value := object[name]; value != nil && string(value) != "null" {
				body = value
				break
			}
		}
		if body == nil {
			return ""
		}
	}
}
