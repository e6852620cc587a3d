package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// send sends a request of Chat Completions and returns the body of the response.
func send(client *http.Client, session, body string) string {
	url := wire.ServerInfo{URL: "http://server.test"}.BaseURL(wire.OpenAI, session) + "/chat/completions"
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body)) //nolint:noctx // the pipe ends with the example
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer any-key")
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A server plays a script for any HTTP client, here in process.
func ExampleServer_Pipe() {
	server := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "It rains in Bern."})})
	client, stop := server.Pipe()
	defer stop()

	text := send(client, "first", `{"model": "gpt-5", "messages": [{"role": "user", "content": "How is the weather?"}]}`)
	fmt.Println(strings.Contains(text, `"content":"It rains in Bern."`))
	// Output: true
}

// The report contains the requests that the real provider would reject, and the
// invariants that they break.
//
//nolint:misspell // the words of the provider
func ExampleServer_Report() {
	server := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "Hello."})})
	client, stop := server.Pipe()
	defer stop()

	send(client, "", `{"model": "gpt-5", "messages": [{"role": "tool", "tool_call_id": "call_1", "content": "rain"}]}`)
	report := server.Report()
	for _, r := range report.RejectedRequests {
		fmt.Println(r.Request, r.ID, r.Status, r.Message)
	}
	fmt.Println(report.OK(), report.Counts)
	// Output:
	// 1 SO-02 400 Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.
	// false map[INV-01:1]
}

// A quirk shows a documented deviation of a provider: here the finish reason is stop
// although the response has a tool call.
func ExampleParseQuirk() {
	q, err := wire.ParseQuirk("QO-01@1")
	if err != nil {
		fmt.Println(err)
		return
	}
	call := fake.Call{ID: "call_1", Name: "weather", Arguments: `{"city":"Bern"}`}
	server := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Calls: []fake.Call{call}}), Quirks: []wire.Quirk{q}})
	client, stop := server.Pipe()
	defer stop()

	text := send(client, "", `{"model": "gpt-5", "messages": [{"role": "user", "content": "How is the weather?"}]}`)
	fmt.Println(strings.Contains(text, `"finish_reason":"stop"`), server.Report().Shown)
	// Output: true map[QO-01@1:1]
}
