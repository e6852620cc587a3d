package scenario

import (
	"testing"

	"github.com/looptape/looptape/loop"
)

func TestMiddlewareDoc(t *testing.T) {
	for _, o := range loop.Options() {
		if o.Name == "middleware" && o.Doc != middlewareDoc() {
			t.Errorf("loop.Options: doc of middleware: got %q, want %q", o.Doc, middlewareDoc())
		}
	}
}
