// Package looptape_test tests an agent with scripted and with recorded responses.
package looptape_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/loop/scenario"
)

const (
	prompt = "How warm is it in Paris?"
	want   = "It is 22 degrees in Paris."
)

// The agent runs with the responses of weather.txtar. The server rejects the requests that the
// provider rejects, and its report has the violations of each request.
func TestScenario(t *testing.T) {
	text, err := os.ReadFile("weather.txtar")
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenario.Parse("weather.txtar", text)
	if err != nil {
		t.Fatal(err)
	}
	server := wire.New(wire.Config{Script: file.Script})
	client, stop := server.Pipe()
	defer stop()
	got, err := agent(t.Context(), client, server.Info("http://looptape").BaseURL(wire.OpenAI, ""), prompt)
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if report := server.Done(); !report.OK() {
		t.Errorf("%v %q", report.All(), report.Failures)
	}
}

// The agent runs with the recorded responses of weather.tape. LOOPTAPE=record records them again,
// with the key in OPENAI_API_KEY.
func TestCassette(t *testing.T) {
	cassette, err := cassettes.Open("weather.tape", &cassettes.Options{Mode: cassettes.Mode(os.Getenv(cassettes.Env))})
	if err != nil {
		t.Fatal(err)
	}
	got, err := agent(t.Context(), cassette.Client(), "https://api.openai.com/v1", prompt)
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := cassette.Close(); err != nil {
		t.Error(err)
	}
}

// agent is an example with Chat Completions. Call your own agent in its place, with the client and
// the base URL.
func agent(ctx context.Context, client *http.Client, baseURL, prompt string) (string, error) {
	tools := json.RawMessage(`[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`)
	messages := []any{map[string]string{"role": "user", "content": prompt}}
	for {
		body, err := json.Marshal(map[string]any{"model": "gpt-5", "tools": tools, "messages": messages})
		if err != nil {
			return "", err
		}
		text, err := post(ctx, client, baseURL+"/chat/completions", body)
		if err != nil {
			return "", err
		}
		var response struct {
			Choices []struct{ Message json.RawMessage }
		}
		if err := json.Unmarshal(text, &response); err != nil || len(response.Choices) == 0 {
			return "", fmt.Errorf("invalid response %q: %w", text, err)
		}
		var message struct {
			Content string
			Calls   []struct{ ID string } `json:"tool_calls"`
		}
		if err := json.Unmarshal(response.Choices[0].Message, &message); err != nil {
			return "", err
		}
		if len(message.Calls) == 0 {
			return message.Content, nil
		}
		messages = append(messages, response.Choices[0].Message)
		for _, call := range message.Calls {
			messages = append(messages, map[string]string{"role": "tool", "tool_call_id": call.ID, "content": `{"tempC":22}`})
		}
	}
}

func post(ctx context.Context, client *http.Client, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(os.Getenv("OPENAI_API_KEY"), "any-key"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	_ = resp.Body.Close()
	return text, err
}
