// Package strict asks the fake provider one question, in process.
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

// bases are the paths below which a protocol has its own.
var bases = map[string]string{
	"openai-chat": "/openai/v1", "openai-responses": "/openai/v1", "anthropic-messages": "/anthropic", "gemini": "/gemini/v1beta",
}

// Ask sends a request to a fake provider of its own, whose script is this turn, with a
// credential that is right. It returns the response and what the provider has seen.
func Ask(ctx context.Context, turn fake.Response, p protocol.Protocol, req *protocol.Request) (*httptest.ResponseRecorder, wire.Report) {
	server := wire.New(wire.Config{Model: fake.NewModel(turn)})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, bases[p.Name()]+req.Path+"?"+req.Query, bytes.NewReader(req.Body))
	for name, values := range req.Header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer some-key") // every protocol takes it
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w, server.Report()
}
