package scorers

import "fmt"

// Difference is a place where two JSON values differ.
type Difference struct {
	At string `json:"at"` // a JSON pointer (RFC 6901)
	// Want and Got are the JSON that stands there, long ones cut short, or "nothing".
	Want string `json:"want"`
	Got  string `json:"got"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.At, d.Want, d.Got)
}

// Differ compares JSON values: numbers by their value, members in any order. It may be
// used by several goroutines at once.
type Differ struct{ ignore []pointer }

// NewDiffer returns a Differ that does not look at what JSON pointers lead to on either
// side; a name * in them stands for all members or elements. The error is for a text that
// is no pointer.
func NewDiffer(ignore ...string) (*Differ, error) {
	all, err := pointers(ignore)
	return &Differ{all}, err
}

// Differences returns the places where two values differ, in the order of pointers. The
// error is for a text that is no JSON value; it says which.
func (d *Differ) Differences(want, got string) ([]Difference, error) {
	w, err := parse([]byte(want))
	if err != nil {
		return nil, fmt.Errorf("want: %w", err)
	}
	g, err := parse([]byte(got))
	if err != nil {
		return nil, fmt.Errorf("got: %w", err)
	}
	return differences("", without(w, d.ignore), without(g, d.ignore), nil), nil
}
