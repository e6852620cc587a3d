package stats_test

import (
	"testing"

	"github.com/looptape/looptape/evals/stats"
)

// TestMcNemarPublished compares with the example of Fagerland, Lydersen & Laake (2013):
// airway hyper-responsiveness before and after a transplantation, 1 and 7 discordant
// pairs, exact .0703 and mid-p .0391.
func TestMcNemarPublished(t *testing.T) {
	exact, mid, err := stats.McNemar(1, 7)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "exact and mid-p", []float64{exact, mid}, []float64{0.0703, 0.0391}, 5e-5)
}

// TestMcNemarEnumerated compares with all ways in which up to 12 pairs can lie.
func TestMcNemarEnumerated(t *testing.T) {
	for n := range 13 {
		for c := range n + 1 {
			less, equal := 0, 0 // ways with fewer on the side with fewer, and with the same number
			for ways := range 1 << n {
				here := 0
				for i := range n {
					here += ways >> i & 1
				}
				switch fewer := min(c, n-c); {
				case here < fewer:
					less++
				case here == fewer:
					equal++
				}
			}
			all := float64(int(1) << n)
			want := []float64{min(1, 2*float64(less+equal)/all), float64(2*less+equal) / all}
			exact, mid, err := stats.McNemar(c, n-c)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "exact and mid-p", []float64{exact, mid}, want, 1e-12)
		}
	}
}

func TestMcNemarRefuses(t *testing.T) {
	for _, c := range [][2]int{{-1, 0}, {0, -1}} {
		_, _, err := stats.McNemar(c[0], c[1])
		fails(t, "McNemar", err, "counts are 0 or more")
	}
}
