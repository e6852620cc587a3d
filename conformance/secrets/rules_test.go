package secrets

import (
	"maps"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
	"github.com/zricethezav/gitleaks/v8/detect"
)

// keptKinds are the rules of gitleaks whose texts stay in a recording more often than one in ten times, and why.
// One in ten random words is not recognized.
var keptKinds = map[string]string{
	"asana-client-id":        "digits, which are an id",
	"discord-client-id":      "digits, which are an id",
	"curl-auth-header":       "a short value of letters, as documentation has it",
	"curl-auth-user":         "a short password of letters, as documentation has it",
	"flutterwave-public-key": "a public key",
	"jwt":                    "random text, where tokens begin with JSON in base64",
	"square-access-token":    "less than 60 characters, which base64 often has",
}

// A text that a rule of gitleaks finds is redacted or fails the recording, except for the kinds in keptKinds.
// The rules generate the texts. What they call a name is the vendor's and a usual word for a secret.
func TestGitleaksRules(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(19, 9))
	const n = 30
	found := 0
	for _, id := range slices.Sorted(maps.Keys(d.Config.Rules)) {
		rule := d.Config.Rules[id]
		if rule.Regex == nil {
			continue
		}
		flagged, kept, example := 0, 0, ""
		for i := range n {
			form, err := syntax.Parse(usual[i%len(usual)].Replace(rule.Regex.String()), syntax.Perl)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			var b strings.Builder
			generate(rnd, form, &b)
			text := "settings\n" + b.String() + "\nend\n"
			if !finds(d, id, text) {
				continue
			}
			flagged++
			if now, ok := recorded(text); ok && finds(d, id, now) {
				kept, example = kept+1, b.String()
			}
		}
		if flagged > 0 {
			found++
		}
		if reason := keptKinds[id]; kept*10 > flagged && reason == "" || kept == 0 && reason != "" {
			t.Errorf("%s: %d of %d texts are kept, such as %q; the reason is %q", id, kept, flagged, example, reason)
		}
	}
	t.Logf("texts of %d rules of %d", found, len(d.Config.Rules))
	if found < 180 {
		t.Errorf("gitleaks finds the texts of %d rules, want at least 180", found)
	}
}

// usual makes the general parts of rules those of usual assignments, without quotes and with them.
var usual = []*strings.Replacer{assignments(`(?:=|: )`, ` `), assignments(`(?: = "|": "|" => ")`, `"`)}

func assignments(operator, end string) *strings.Replacer {
	return strings.NewReplacer(
		`[\w.-]{0,50}?`, ``,
		`(?:[ \t\w.-]{0,20})`, `_(?:api_key|token|secret|access_token)`,
		`[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`, operator,
		`[\s'"]{0,3})(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}`, `)`+operator,
		`(?:[\x60'"\s;]|\\[nr]|$)`, end,
	)
}

// recorded returns what a recording keeps of a text; ok is false if it fails.
func recorded(text string) (kept string, ok bool) {
	rules := &redact.Rules{}
	x := rules.Redacted(&recording.Interaction{Request: recording.Request{Method: "POST", URL: "https://example.com/", Body: []byte(text)}})
	return string(x.Request.Body), len(rules.FindSecrets(x)) == 0
}

func finds(d *detect.Detector, rule, text string) bool {
	for _, f := range d.DetectString(text) {
		if f.RuleID == rule && !strings.Contains(f.Secret, "redacted") {
			return true
		}
	}
	return false
}

// generate writes a text that a form matches.
func generate(rnd *rand.Rand, form *syntax.Regexp, out *strings.Builder) {
	repeat := func(least, most int) {
		for range least + rnd.IntN(most-least+1) {
			generate(rnd, form.Sub[0], out)
		}
	}
	switch form.Op {
	case syntax.OpLiteral:
		text := string(form.Rune)
		if form.Flags&syntax.FoldCase != 0 {
			text = strings.ToLower(text)
		}
		out.WriteString(text)
	case syntax.OpCharClass:
		if class := characters(form); len(class) > 0 {
			out.WriteByte(class[rnd.IntN(len(class))])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, part := range form.Sub {
			generate(rnd, part, out)
		}
	case syntax.OpAlternate:
		generate(rnd, form.Sub[rnd.IntN(len(form.Sub))], out)
	case syntax.OpPlus:
		repeat(15, 25)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		most := form.Max
		if most < 0 || most > form.Min+12 {
			most = form.Min + 12
		}
		repeat(form.Min, most)
	}
}

// characters returns the letters and digits of a class, or its other characters.
func characters(class *syntax.Regexp) (list []byte) {
	var others []byte
	for c := byte(' '); c < 0x7f; c++ {
		in := false
		for i := 0; i < len(class.Rune); i += 2 {
			in = in || class.Rune[i] <= rune(c) && rune(c) <= class.Rune[i+1]
		}
		switch {
		case !in:
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			list = append(list, c)
		default:
			others = append(others, c)
		}
	}
	if len(list) == 0 {
		return others
	}
	return list
}
