package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// goRun runs a test case with a client in Go and returns the final text.
type goRun func(ctx context.Context, c testCase, url string) (string, error)

// goClients are the clients in Go with their modules.
var goClients = []struct {
	name, description string
	modules           []string
	run               map[string]goRun // by protocol
}{
	{"openai-go", "a manual loop with OpenAI's SDK for Go", []string{"github.com/openai/openai-go/v3"}, map[string]goRun{"openai-chat": openAIChat, "openai-responses": openAIResponses}},
	{"anthropic-go", "a manual loop with Anthropic's SDK for Go", []string{"github.com/anthropics/anthropic-sdk-go"}, map[string]goRun{"anthropic-messages": anthropicMessages}},
	{"genai-go", "a manual loop with Google's SDK for Go", []string{"google.golang.org/genai"}, map[string]goRun{"gemini": googleGenAI}},
	{"fantasy", "the agent of charm.land/fantasy", []string{"charm.land/fantasy"}, map[string]goRun{
		"openai-chat": fantasyAgent, "openai-responses": fantasyAgent, "anthropic-messages": fantasyAgent, "gemini": fantasyAgent,
	}},
	{"eino", "eino's ReAct agent with the models of eino-ext", []string{
		"github.com/cloudwego/eino", "github.com/cloudwego/eino-ext/components/model/openai",
		"github.com/cloudwego/eino-ext/components/model/claude", "github.com/cloudwego/eino-ext/components/model/gemini",
	}, map[string]goRun{"openai-chat": einoAgent, "anthropic-messages": einoAgent, "gemini": einoAgent}},
}

// newGoClients returns the clients in Go.
func newGoClients(root string) (list []client, err error) {
	pins, err := goVersions(root)
	for _, g := range goClients {
		c := client{name: g.name, description: g.description, versions: versionsOf(g.modules, pins), start: func() (runFunc, func() error) {
			return func(ctx context.Context, c testCase, url string) (result, error) {
				return contained(ctx, g.run[c.protocol], c, url)
			}, func() error { return nil }
		}}
		for _, t := range titles {
			if g.run[t.protocol] != nil {
				c.protocols = append(c.protocols, t.protocol)
			}
		}
		list = append(list, c)
	}
	return list, err
}

// contained runs a test case in its own goroutine, because not every library honors ctx. A panic
// is an error of the loop.
func contained(ctx context.Context, run goRun, c testCase, url string) (result, error) {
	ended := make(chan result, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				ended <- result{failed: fmt.Sprint("panic: ", v)}
			}
		}()
		r := result{}
		var err error
		if r.text, err = run(ctx, c, url); err != nil {
			r = result{failed: err.Error()}
		}
		ended <- r
	}()
	select {
	case r := <-ended:
		if ctx.Err() == nil {
			return r, nil
		}
	case <-ctx.Done():
	}
	return result{}, context.Cause(ctx)
}

// newHTTP returns the HTTP client of one test case.
func newHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: responseTimeout, DisableKeepAlives: true}}
}

// runTool runs a tool by its name.
func runTool(name string, arguments []byte) (string, error) {
	for _, t := range tools {
		if t.name != name {
			continue
		}
		var in map[string]any
		if err := json.Unmarshal(arguments, &in); err != nil {
			return "", fmt.Errorf("the arguments of %s: %w", name, err)
		}
		text, _ := in[t.property].(string)
		return t.run(text), nil
	}
	return "", fmt.Errorf("the model calls the unknown tool %q", name)
}

// errMaxSteps is the error of a manual loop at its step limit.
var errMaxSteps = errors.New("the loop reached its step limit")

// manualLoop calls step until it returns the final text. A step returns nil to continue.
func manualLoop(step func() (*string, error)) (string, error) {
	for range maxSteps {
		if text, err := step(); err != nil {
			return "", err
		} else if text != nil {
			return *text, nil
		}
	}
	return "", errMaxSteps
}
