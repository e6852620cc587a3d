package wire_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

// pipeURL is a base URL for clients of a pipe.
const pipeURL = "http://fake.invalid"

// pipe serves a configuration in process and returns a client of each protocol.
func pipe(t *testing.T, cfg wire.Config, session string) (*wire.Server, map[string]*protocol.Client) {
	t.Helper()
	s := wire.New(cfg)
	client, stop := s.Pipe()
	t.Cleanup(stop)
	return s, clientsOf(pipeURL, session, client)
}

// clientsOf returns a client of each protocol for a server.
func clientsOf(server, session string, h *http.Client) map[string]*protocol.Client {
	clients := map[string]*protocol.Client{}
	for _, k := range protocols {
		base := wire.ServerInfo{URL: server}.BaseURL(k.provider, session)
		if k.provider == wire.Gemini {
			base += "/v1beta"
		}
		clients[k.name] = &protocol.Client{Protocol: k.proto, BaseURL: base, HTTP: h, Authorize: k.key("secret-key")}
	}
	return clients
}

// One pipe serves many concurrent requests.
func TestPipe(t *testing.T) {
	_, clients := pipe(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "hello", ChunkSize: 1})}, "")
	var wg sync.WaitGroup
	for _, c := range clients {
		for range 16 {
			wg.Go(func() {
				if turn, err := ask(c, request(llm.Streaming, llm.User("hi"))); err != nil || turn.Text() != "hello" {
					t.Errorf("%s: %v, %v", c.Protocol.Name(), turn, err)
				}
			})
		}
	}
	wg.Wait()
}

// A closed pipe rejects requests and ends those in progress. So does the end of a context.
func TestPipeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, stop := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "half", Stall: true})}).Pipe()
		c := &protocol.Client{Protocol: chat.Protocol{}, BaseURL: wire.ServerInfo{URL: pipeURL}.BaseURL(wire.OpenAI, ""), HTTP: client, Authorize: openai.Key("k")}
		ctx, cancel := context.WithCancel(context.Background())
		hung := make(chan error)
		go func() {
			_, err := llm.Collect(c.Stream(ctx, request(llm.Streaming, llm.User("hi"))))
			hung <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-hung; err == nil {
			t.Error("a response without an end ended")
		}
		go func() {
			_, err := ask(c, request(llm.Streaming, llm.User("hi")))
			hung <- err
		}()
		synctest.Wait()
		stop()
		if err := <-hung; err == nil {
			t.Error("a response without an end ended")
		}
		if _, err := ask(c, request(llm.Streaming, llm.User("hi"))); err == nil {
			t.Error("a closed pipe returns a response")
		}
	})
}
