package rerun

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// Check returns an error for an invalid pointer.
func (o *Options) Check() error {
	if _, err := scorers.NewDiffer(o.Ignore["*"]...); err != nil {
		return err
	}
	for tool := range o.Ignore {
		if _, err := o.differ(tool); err != nil {
			return fmt.Errorf("the tool %q: %w", tool, err)
		}
	}
	return nil
}

func (o *Options) differ(tool string) (*scorers.Differ, error) {
	return scorers.NewDiffer(slices.Concat(o.Ignore["*"], o.Ignore[tool])...)
}

// compare sets the status of a call. If the record is plain, its results do not show whether they
// are errors.
func (o *Options) compare(call *Call, recorded, now *llm.ToolResult, plain bool) {
	var same bool
	same, call.Differences = o.same(call.Tool, call.Recorded, call.Now)
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

// same reports whether two texts of a tool are equal, and where they differ if both are JSON.
func (o *Options) same(tool, was, is string) (bool, []scorers.Difference) {
	if o.IgnoreSpace {
		was, is = squeezed(was), squeezed(is)
	}
	if was == is || slices.Contains(o.Ignore["*"], "") || slices.Contains(o.Ignore[tool], "") {
		return true, nil
	}
	differ, _ := o.differ(tool) // Check has checked the pointers
	list, err := differ.Differences(was, is)
	return err == nil && len(list) == 0, list
}

// squeezed collapses white space, in JSON within strings only.
func squeezed(text string) string {
	if v, err := jsonval.Decode([]byte(text)); err == nil {
		raw, _ := json.Marshal(jsonval.Leaves(v, func(leaf any) any { // what was read can be written
			if text, ok := leaf.(string); ok {
				return oneSpaced(text)
			}
			return leaf
		}))
		return string(raw)
	}
	return oneSpaced(text)
}

func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// textOf returns the text of a result, or the JSON of other content; empty for nil.
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
