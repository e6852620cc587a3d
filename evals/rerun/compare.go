package rerun

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// comparison compares results, or arguments.
type comparison struct {
	Options

	all   *scorers.Differ // of tools that have none of their own
	tools map[string]*scorers.Differ
}

// Check reports a pointer that is none.
func (o *Options) Check() error {
	_, err := newComparison(o)
	return err
}

func newComparison(o *Options) (*comparison, error) {
	c := &comparison{Options: *o, tools: map[string]*scorers.Differ{}}
	every := o.Ignore["*"]
	var err error
	if c.all, err = scorers.NewDiffer(every...); err != nil {
		return nil, err
	}
	for tool, pointers := range o.Ignore {
		if c.tools[tool], err = scorers.NewDiffer(slices.Concat(every, pointers)...); err != nil {
			return nil, fmt.Errorf("the tool %q: %w", tool, err)
		}
	}
	return c, nil
}

// call says whether a result is the recorded one. Where the record is plain, it does not
// tell which results are errors.
func (c *comparison) call(call *Call, recorded, now *llm.ToolResult, plain bool) {
	var same bool
	same, call.Differences = c.same(call.Tool, call.Recorded, call.Now)
	call.Status = Same
	if !same {
		call.Status = Differs
	}
	if now.IsError != recorded.IsError && (recorded.IsError || !plain) {
		call.Status, call.Note = Differs, "the result is now no error"
		if now.IsError {
			call.Note = "the result is now an error"
		}
	}
}

// same reports whether two texts of a tool, such as results, are the same, and where they
// differ if both are JSON.
func (c *comparison) same(tool, was, is string) (bool, []scorers.Difference) {
	if c.IgnoreSpace {
		was, is = squeezed(was), squeezed(is)
	}
	if was == is || slices.Contains(c.Ignore["*"], "") || slices.Contains(c.Ignore[tool], "") {
		return true, nil
	}
	differ := c.all
	if own, ok := c.tools[tool]; ok {
		differ = own
	}
	list, err := differ.Differences(was, is)
	return err == nil && len(list) == 0, list
}

// squeezed is a text with one space for all white space between words, or JSON with such
// strings.
func squeezed(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err == nil && !dec.More() {
		raw, _ := json.Marshal(jsonio.Leaves(v, func(leaf any) any { // what was read can be written
			if text, ok := leaf.(string); ok {
				return oneSpaced(text)
			}
			return leaf
		}))
		return string(raw)
	}
	return oneSpaced(text)
}

// oneSpaced is a text with one space for all white space between words.
func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// textOf is what a result says: its text, or the JSON of content that is no text alone;
// "" if there is none.
func textOf(r *llm.ToolResult) string {
	if r == nil {
		return ""
	}
	for _, part := range r.Content {
		if _, ok := part.(llm.Text); !ok {
			return string(llm.AppendParts(nil, r.Content))
		}
	}
	return r.Text()
}
