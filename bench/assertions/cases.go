// Package assertions judges the same made-up answers by scorers of looptape and by
// assertions of promptfoo, holds the verdicts against each other case by case, and measures
// both.
package assertions

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Case is an answer and what is asserted of it.
type Case struct {
	Kind   string `json:"kind"` // a type of promptfoo's assertions; json stands for equals with a value that is no text
	Answer string `json:"answer"`
	Value  any    `json:"value"` // of the assertion
}

// Kinds are the kinds of all cases.
var Kinds = []string{"equals", "json", "contains", "icontains", "contains-any", "contains-all", "regex"}

// each is how many cases there are of a kind.
const each = 600

// Cases are the cases on which both should agree, the same ones each time: of each kind
// about as many that hold as do not.
func Cases() (cases []Case) {
	w := writer{rand.New(rand.NewPCG(1, 2))}
	for _, kind := range Kinds {
		for i := range each {
			c := Case{Kind: kind}
			c.Answer, c.Value = w.write(kind, i%2 == 0)
			cases = append(cases, c)
		}
	}
	return cases
}

var words = strings.Fields(`the train to Bern leaves at nine from platform four and costs thirty francs with a
	half fare card so buy one first Zürich Genève station window seat please confirm order
	number refund policy allows it within days after travel unless ticket was used`)

// writer makes up answers.
type writer struct{ *rand.Rand }

// write returns an answer, and a value of which the assertion holds or, as far as chance
// allows, does not.
func (w writer) write(kind string, holds bool) (answer string, value any) {
	text := w.phrase(30 + w.IntN(30))
	switch kind {
	case "equals":
		return text, w.spoilt(text, holds)
	case "json":
		doc := w.document(3)
		text, _ := json.Marshal(doc) // is of texts, numbers, lists and maps
		if !holds {
			doc["spoilt"] = true
		}
		return string(text), doc
	case "contains":
		return text, w.spoilt(w.part(text), holds)
	case "icontains":
		return text, w.spoilt(strings.ToUpper(w.part(text)), holds)
	case "contains-any":
		return text, []string{w.spoilt(w.part(text), false), w.spoilt(w.part(text), holds)}
	case "contains-all":
		return text, []string{w.part(text), w.spoilt(w.part(text), holds)}
	}
	number := w.IntN(100_000)
	value = fmt.Sprintf(`\bNo\. 0*%d\b.*(?:%s|%s)$`, number, w.phrase(1), text[strings.LastIndex(text, " ")+1:])
	if !holds {
		number++
	}
	return fmt.Sprintf("Order No. %07d: %s", number, text), value
}

// phrase is so many words.
func (w writer) phrase(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = words[w.IntN(len(words))]
	}
	return strings.Join(list, " ")
}

// part is three words of a text that follow each other.
func (w writer) part(text string) string {
	list := strings.Fields(text)
	i := w.IntN(len(list) - 3)
	return strings.Join(list[i:i+3], " ")
}

// spoilt is a text, or if it should not hold, one that is in no answer.
func (w writer) spoilt(text string, holds bool) string {
	if holds {
		return text
	}
	i := w.IntN(len(text)/2 + 1)
	return strings.ToValidUTF8(text[:i]+"#"+text[i:], "#")
}

// document is an object of objects, lists, texts and numbers.
func (w writer) document(depth int) map[string]any {
	doc := map[string]any{"text": w.phrase(4), "number": w.IntN(1000), "share": float64(w.IntN(1000)) / 8}
	if depth > 0 {
		doc["list"] = []any{w.IntN(10), w.phrase(1), nil, true}
		for _, name := range slices.Compact(strings.Fields(w.phrase(2))) {
			doc[name] = w.document(depth - 1)
		}
	}
	return doc
}
