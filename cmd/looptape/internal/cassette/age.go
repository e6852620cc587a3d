package cassette

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// age is a flag for a duration: days (90d), weeks (12w) or the Go format (36h).
type age time.Duration

func (a *age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Type implements pflag.Value.
func (a *age) Type() string { return "age" }

// Set parses a positive duration.
func (a *age) Set(text string) error {
	d, err := time.ParseDuration(text)
	for end, unit := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if digits, found := strings.CutSuffix(text, end); found {
			var n float64
			n, err = strconv.ParseFloat(digits, 64)
			d = time.Duration(n * float64(unit))
		}
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%q: want a duration such as 90d, 12w or 36h", text)
	}
	*a = age(d)
	return nil
}
