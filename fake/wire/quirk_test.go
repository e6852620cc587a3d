package wire_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/fake/wire"
)

func TestParseQuirk(t *testing.T) {
	for _, s := range []string{"QO-01", "QT-01:crlf", "QO-22@2", "QT-06:429@1"} {
		if q, err := wire.ParseQuirk(s); err != nil || q.String() != s {
			t.Errorf("%s became %q, %v", s, q, err)
		}
	}
	if q, err := wire.ParseQuirk("QT-01@3"); err != nil || q.String() != "QT-01:crlf@3" {
		t.Errorf("a quirk without a form became %q, %v", q, err)
	}
	for s, want := range map[string]string{
		"":            `unknown quirk ""`,
		"QX-01":       `unknown quirk "QX-01"`,
		"QT-01:lf":    "want one of crlf",
		"QO-01:":      `QO-01 has no form ""`,
		"QO-01@0":     "a number from 1",
		"QO-01@":      "a number from 1",
		"QO-01@two":   "a number from 1",
		"QO-01:odd@1": `QO-01 has no form "odd"`,
	} {
		if _, err := wire.ParseQuirk(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want one that contains %q", s, err, want)
		}
	}
	if got := (wire.Quirk{}).String(); got != "" {
		t.Errorf("the zero quirk is %q", got)
	}
}

// Each form has a description, its protocols and a unique name.
func TestQuirks(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range wire.Quirks() {
		name := q.ID + ":" + q.Form
		if seen[name] || q.Description == "" || len(q.Protocols) == 0 {
			t.Errorf("%s is incomplete or a duplicate: %+v", name, q)
		}
		seen[name] = true
	}
}
