package agentier_test

import (
	"os"
	"strings"
	"testing"
)

// AG-06: what users read about limits names the exception, the time limit.
func TestPublishedExceptionAG06(t *testing.T) {
	for file, want := range map[string]string{
		"agentier.go":                           "A run that reaches a limit returns its partial result, except at its time limit: that is the error TIMEOUT unless [loop.Config] DeadlineReturns is set.",
		"agent.go":                              "A run that reaches a limit, except the time limit, returns its partial result.",
		"../../../docs/coming-from-agentier.md": "A run that reaches its deadline fails with `TIMEOUT`",
	} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(strings.ReplaceAll(string(src), "//", "")), " "); !strings.Contains(text, want) {
			t.Errorf("%s does not say: %s", file, want)
		}
	}
}
