package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// inGo are the clients in Go, with the modules that do the work.
var inGo = []struct {
	name, says string
	modules    []string
	plays      map[string]func(ctx context.Context, g game, url string) (string, error) // by protocol
}{
	{"openai-go", "a loop by hand over OpenAI's SDK for Go", []string{"github.com/openai/openai-go/v3"}, map[string]func(context.Context, game, string) (string, error){
		"openai-chat": openAIChat, "openai-responses": openAIResponses,
	}},
	{"anthropic-go", "a loop by hand over Anthropic's SDK for Go", []string{"github.com/anthropics/anthropic-sdk-go"}, map[string]func(context.Context, game, string) (string, error){
		"anthropic-messages": anthropicMessages,
	}},
	{"genai-go", "a loop by hand over Google's SDK for Go", []string{"google.golang.org/genai"}, map[string]func(context.Context, game, string) (string, error){
		"gemini": googleGenAI,
	}},
	{"fantasy", "the agent of charm.land/fantasy", []string{"charm.land/fantasy"}, map[string]func(context.Context, game, string) (string, error){
		"openai-chat": fantasyAgent, "openai-responses": fantasyAgent, "anthropic-messages": fantasyAgent, "gemini": fantasyAgent,
	}},
	{"eino", "eino's ReAct agent, over the models of eino-ext", []string{
		"github.com/cloudwego/eino", "github.com/cloudwego/eino-ext/components/model/openai",
		"github.com/cloudwego/eino-ext/components/model/claude", "github.com/cloudwego/eino-ext/components/model/gemini",
	}, map[string]func(context.Context, game, string) (string, error){
		"openai-chat": einoAgent, "anthropic-messages": einoAgent, "gemini": einoAgent,
	}},
}

// goPlayers are the clients in Go.
func goPlayers(root string) ([]player, error) {
	pins, err := goVersions(root)
	if err != nil {
		return nil, err
	}
	var list []player
	for _, c := range inGo {
		p := player{name: c.name, says: c.says, start: func() (play, stop) {
			return func(ctx context.Context, g game, url string) (end, error) {
				return guarded(ctx, c.plays[g.protocol], g, url)
			}, func() error { return nil }
		}}
		for _, t := range titles {
			if c.plays[t.protocol] != nil {
				p.protocols = append(p.protocols, t.protocol)
			}
		}
		for _, m := range c.modules {
			p.versions = append(p.versions, [2]string{m, pins[m]})
		}
		list = append(list, p)
	}
	return list, nil
}

// guarded plays a game in a goroutine of its own, since not every library heeds ctx;
// a panic is how the loop ends.
func guarded(ctx context.Context, run func(context.Context, game, string) (string, error), g game, url string) (end, error) {
	ended := make(chan end, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				ended <- end{failed: fmt.Sprint("panic: ", v)}
			}
		}()
		text, err := run(ctx, g, url)
		if err != nil {
			ended <- end{failed: err.Error()}
			return
		}
		ended <- end{text: text}
	}()
	select {
	case e := <-ended:
		if ctx.Err() != nil {
			return end{}, context.Cause(ctx)
		}
		return e, nil
	case <-ctx.Done():
		return end{}, context.Cause(ctx)
	}
}

// newHTTP is the transport of one game.
func newHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: patience, DisableKeepAlives: true}}
}

// runTool runs a tool by its name.
func runTool(name string, args []byte) (string, error) {
	for _, t := range tools {
		if t.name != name {
			continue
		}
		var in map[string]any
		if err := json.Unmarshal(args, &in); err != nil {
			return "", fmt.Errorf("the arguments of %s: %w", name, err)
		}
		text, _ := in[t.property].(string)
		return t.run(text), nil
	}
	return "", fmt.Errorf("the model calls %q, and there is no such tool", name)
}

// errEndless is the error of a loop by hand that takes too many steps.
var errEndless = errors.New("there is no end")

// byHand is a loop: step returns the last text, or nil if it is to go on.
func byHand(step func() (*string, error)) (string, error) {
	for range maxSteps {
		if text, err := step(); err != nil || text != nil {
			if err != nil {
				return "", err
			}
			return *text, nil
		}
	}
	return "", errEndless
}
