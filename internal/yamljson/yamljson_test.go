package yamljson_test

import (
	"testing"

	"github.com/looptape/looptape/internal/yamljson"
)

func TestDocument(t *testing.T) {
	for src, want := range map[string]string{
		"a: 1\nb:\n- x\n\n- {c: [2,\n  yes]}\n": "{\"a\":1,\n\"b\":\n[\"x\",\n\n{\"c\":[2,\ntrue]}]}",
		"---\na: 1\n---\n...\n":                 "{\n\"a\":1}",
		"":                                      "null",
		"- &x |\n  two\n  lines\n- *x\n":        "[\"two\\nlines\\n\",\n\n\n\"two\\nlines\\n\"]",
	} {
		if got, err := yamljson.Document([]byte(src)); err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", src, got, err, want)
		}
	}
}

func TestDocumentInvalid(t *testing.T) {
	for src, want := range map[string]string{
		"a: [":                "yaml: line 1: did not find expected node content",
		"a: &x [*x]":          "yaml: line 1: the value has more than 1000 levels or 256 MiB",
		"a: 1\n---\n\nb: 2\n": "yaml: line 4: the file has another document: make a file of each",
		"a: 1\n---\nb: [":     "yaml: line 3: did not find expected node content",
		"a: 1\nb: 2026-01-01": `yaml: line 2: "2026-01-01" (!!timestamp) is not a JSON value: quote it if it is text`,
	} {
		if _, err := yamljson.Document([]byte(src)); err == nil || err.Error() != want {
			t.Errorf("%q: got the error %v, want %s", src, err, want)
		}
	}
}
