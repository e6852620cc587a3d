package wire

import "testing"

// TestFaultText: a fault of a response is a clause.
func TestFaultText(t *testing.T) {
	for fault, want := range map[string]string{
		"comes in two parts":         "it comes in two parts",
		"call 1 comes in one event":  "its call 1 comes in one event",
		"has an error in the script": "it has an error in the script",
	} {
		if got := faultText(fault); got != want {
			t.Errorf("faultText(%q) = %q, want %q", fault, got, want)
		}
	}
}
