package redact_test

import (
	"fmt"
	"net/http"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

func ExampleRules_Redacted() {
	rules := &redact.Rules{Secret: []string{"X-Tenant"}}
	x := rules.Redacted(&recording.Interaction{Request: recording.Request{
		Method: "GET", URL: "https://example.com/", Header: http.Header{"X-Tenant": {"acme"}, "Accept": {"text/plain"}},
	}})
	fmt.Println(x.Request.Header["X-Tenant"][0] == redact.Placeholder("acme"), x.Request.Header["Accept"][0])
	// Output: true text/plain
}

func ExampleRules_FindSecrets() {
	x := &recording.Interaction{Request: recording.Request{Method: "POST", URL: "https://example.com/", Body: []byte(`{"note":"sk-ant-abcdefghij0123456789"}`)}}
	for _, s := range (&redact.Rules{}).FindSecrets(x) {
		fmt.Println(s.Place)
	}
	// Output: body /note
}
