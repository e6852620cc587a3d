// Package strict sends one request to the fake provider, in process.
package strict

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/providers/protocol"
)

// bases are the base paths of the protocols.
var bases = map[string]string{
	"openai-chat": "/openai/v1", "openai-responses": "/openai/v1", "anthropic-messages": "/anthropic", "gemini": "/gemini/v1beta",
}

// Ask sends a request with a valid credential to a new fake provider whose script is this response. It
// returns the response and the report of the provider.
func Ask(ctx context.Context, turn fake.Response, p protocol.Protocol, req *protocol.Request) (*httptest.ResponseRecorder, wire.Report) {
	server := wire.New(wire.Config{Model: fake.NewModel(turn)})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, bases[p.Name()]+req.Path+"?"+req.Query, bytes.NewReader(req.Body))
	for name, values := range req.Header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer some-key") // each protocol accepts it
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w, server.Report()
}
