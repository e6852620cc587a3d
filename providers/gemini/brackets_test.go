package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An object instead of an array is read as an array of that object.
func TestDecodeRequestWithoutBrackets(t *testing.T) {
	const body = `{"contents":[{"parts":[{"text":"a"}]}],"system_instruction":{"parts":[{"text":"b"}]},"tools":[{"functionDeclarations":[{"name":"f"}]}]}`
	want, err := codec.DecodeRequest("/models/m:generateContent", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.NewReplacer("[", "", "]", "").Replace(body)
	got, err := codec.DecodeRequest("/models/m:generateContent", []byte(bare))
	if err != nil {
		t.Fatalf("%s: %v", bare, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-with +without):\n%s", bare, diff)
	}
}
