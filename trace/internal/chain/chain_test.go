package chain_test

import (
	"testing"

	"github.com/looptape/looptape/trace/internal/chain"
)

func TestChainKeepsPrefix(t *testing.T) {
	var a, b chain.Chain
	a.Add([]string{"x", "y"})
	b.Add([]string{"x"})
	if got := string((&chain.Chain{}).AppendHash(nil)); got != "0000000000000000" {
		t.Errorf("hash of no messages: got %s", got)
	}
	if !a.Keep(1) || string(a.AppendHash(nil)) != string(b.AppendHash(nil)) {
		t.Errorf("hash of a kept prefix: got %s, want %s", a.AppendHash(nil), b.AppendHash(nil))
	}
	if a.Keep(2) {
		t.Error("Keep(2) of one message: got true")
	}
	if n, known := a.Len(); known {
		t.Errorf("Len of a lost conversation: got %d, true", n)
	}
	if !a.Keep(0) {
		t.Error("Keep(0) of a lost conversation: got false")
	}
}

func TestChainsLose(t *testing.T) {
	cs := chain.Chains{}
	cs.Of("r1", "").Add([]string{"x"})
	if n, _ := cs.Of("r1", "").Len(); n != 1 {
		t.Errorf("Of of a known conversation: got %d messages, want 1", n)
	}
	if n, _ := cs.Of("r1", "grade").Len(); n != 0 {
		t.Errorf("Of of a new conversation: got %d messages, want 0", n)
	}
	cs.Lose()
	if cs.Of("r1", "").Keep(1) {
		t.Error("Keep of a lost conversation: got true")
	}
}
