package scenario

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/loop"
)

// The table of options describes each kind of middleware.
func TestMiddlewareDoc(t *testing.T) {
	for _, o := range loop.Options() {
		if o.Name != "middleware" {
			continue
		}
		rest := o.Doc
		for _, k := range middlewareKinds() {
			_, after, ok := strings.Cut(rest, "`"+k.name)
			if rest = after; !ok || after[0] != '`' && after[0] != ':' {
				t.Errorf("the documentation of the option does not describe %s after the kinds before it: %s", k.name, o.Doc)
			}
		}
	}
}
