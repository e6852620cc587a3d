package convert_test

import (
	"fmt"

	"github.com/looptape/looptape/cassettes/convert"
)

// Convert a recording of go-vcr to HAR.
func ExampleWrite() {
	const recorded = `version: 1
interactions:
- request: {url: "https://example.com/", method: GET}
  response: {body: fine, code: 200}
`
	rec, err := convert.Parse("recorded.yaml", []byte(recorded))
	if err != nil {
		panic(err)
	}
	text, _, err := convert.Write(convert.HAR, rec.Metadata, rec.Interactions)
	if err != nil {
		panic(err)
	}
	back, err := convert.Parse("recorded.har", text)
	fmt.Println(back.Format, len(back.Interactions), err)
	// Output: har 1 <nil>
}
