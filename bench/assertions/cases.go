// Package assertions scores the same generated answers with scorers of looptape and with
// assertions of promptfoo, compares the results and measures both.
package assertions

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Case is an answer with an assertion.
type Case struct {
	Kind   string `json:"kind"` // a type of promptfoo's assertions; json is equals with a value that is not a string
	Answer string `json:"answer"`
	Value  any    `json:"value"` // of the assertion
}

// Kinds are the kinds of cases.
var Kinds = []string{"equals", "json", "contains", "icontains", "contains-any", "contains-all", "regex"}

// each is the number of cases of a kind.
const each = 600

// Cases returns the cases with equal results in both tools. They are always the same. About half
// of each kind pass.
func Cases() (cases []Case) {
	w := generator{rand.New(rand.NewPCG(1, 2))}
	for _, kind := range Kinds {
		for i := range each {
			c := Case{Kind: kind}
			c.Answer, c.Value = w.answer(kind, i%2 == 0)
			cases = append(cases, c)
		}
	}
	return cases
}

var words = strings.Fields(`the train to Bern leaves at nine from platform four and costs thirty francs with a
	half fare card so buy one first Zürich Genève station window seat please confirm order
	number refund policy allows it within days after travel unless ticket was used`)

// generator generates answers.
type generator struct{ *rand.Rand }

// answer returns an answer and a value. The assertion passes or, with high probability, fails.
func (w generator) answer(kind string, passes bool) (answer string, value any) {
	text := w.phrase(30 + w.IntN(30))
	switch kind {
	case "equals":
		return text, w.change(text, passes)
	case "json":
		doc := w.document(3)
		text, _ := json.Marshal(doc) // strings, numbers, lists and maps
		if !passes {
			doc["changed"] = true
		}
		return string(text), doc
	case "contains":
		return text, w.change(w.part(text), passes)
	case "icontains":
		return text, w.change(strings.ToUpper(w.part(text)), passes)
	case "contains-any":
		return text, []string{w.change(w.part(text), false), w.change(w.part(text), passes)}
	case "contains-all":
		return text, []string{w.part(text), w.change(w.part(text), passes)}
	}
	number := w.IntN(100_000)
	value = fmt.Sprintf(`\bNo\. 0*%d\b.*(?:%s|%s)$`, number, w.phrase(1), text[strings.LastIndex(text, " ")+1:])
	if !passes {
		number++
	}
	return fmt.Sprintf("Order No. %07d: %s", number, text), value
}

// phrase returns n words.
func (w generator) phrase(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = words[w.IntN(len(words))]
	}
	return strings.Join(list, " ")
}

// part returns three consecutive words of a text.
func (w generator) part(text string) string {
	list := strings.Fields(text)
	i := w.IntN(len(list) - 3)
	return strings.Join(list[i:i+3], " ")
}

// change returns text, or a text that is in no answer if the assertion should fail.
func (w generator) change(text string, passes bool) string {
	if passes {
		return text
	}
	i := w.IntN(len(text)/2 + 1)
	return strings.ToValidUTF8(text[:i]+"#"+text[i:], "#")
}

// document returns an object of objects, lists, strings and numbers.
func (w generator) document(depth int) map[string]any {
	doc := map[string]any{"text": w.phrase(4), "number": w.IntN(1000), "share": float64(w.IntN(1000)) / 8}
	if depth > 0 {
		doc["list"] = []any{w.IntN(10), w.phrase(1), nil, true}
		for _, name := range slices.Compact(strings.Fields(w.phrase(2))) {
			doc[name] = w.document(depth - 1)
		}
	}
	return doc
}
