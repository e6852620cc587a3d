package cassette

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "0.5d": 12 * time.Hour, "2w": 14 * day, "36h": 36 * time.Hour, "1h30m": 90 * time.Minute,
		"": 0, "90": 0, "d": 0, "-1d": 0, "0d": 0, "-1h": 0, "1x": 0, "NaNd": 0,
	} {
		var a age
		if err := a.Set(text); time.Duration(a) != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %v, want %v; %v", text, time.Duration(a), want, err)
		}
	}
	var a age
	if a.String() != "" {
		t.Errorf("none is %q", &a)
	}
	if a = age(36 * time.Hour); a.String() != "36h0m0s" {
		t.Errorf("36h is %q", &a)
	}
}
