package page_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var caption = regexp.MustCompile(`<figcaption>([^<]*)</figcaption>`)

// scoreFile returns a score file with two runs of each case by each metric, and a cost per run.
func scoreFile(metrics []string, values ...float64) string {
	text := fmt.Sprintf("{\"format\":\"looptape-eval\",\"version\":2,\"scorers\":[\"recorded\"],\"runs\":%d,\"unreadable\":0}\n", len(values))
	for i, v := range values {
		var all []string
		for _, metric := range metrics {
			all = append(all, fmt.Sprintf("%q:%v", metric, v))
		}
		text += fmt.Sprintf("{\"run\":{\"case\":\"c%d\",\"epoch\":%d,\"run\":\"r\",\"file\":\"f\",\"line\":%d,\"scores\":{%s},\"cost\":%d}}\n", i/2, i%2, i+1, strings.Join(all, ","), i+1)
	}
	return text
}

func TestPlots(t *testing.T) {
	base := scoreFile([]string{"m"}, 1, 0, 1, 0)
	for name, c := range map[string]struct {
		runs, base string
		want       []string
	}{
		"one set":                  {scoreFile([]string{"m", "<b>"}, 1, 0, 1, 1), "", []string{"Means with 95 % intervals", "pass^k and pass@k of &lt;b&gt;", "&lt;b&gt; by cost", "pass^k and pass@k of m", "m by cost"}},
		"two sets":                 {scoreFile([]string{"m"}, 1, 0, 1, 1), base, []string{"Differences from the base with 95 % intervals", "pass^k and pass@k of m", "Differences of cases by m", "m by cost"}},
		"equal sets":               {base, base, []string{"Differences from the base with 95 % intervals", "pass^k and pass@k of m", "m by cost"}},
		"a scale of its own":       {scoreFile([]string{"m"}, 5, 7, 1, 2), "", []string{"Means with 95 % intervals", "m by cost"}},
		"no score":                 {scoreFile(nil, 1), "", nil},
		"nothing":                  {"", "", nil},
		"too many metrics to plot": {scoreFile(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), 1), "", []string{"Means with 95 % intervals"}},
	} {
		t.Run(name, func(t *testing.T) {
			html, _, _ := strings.Cut(written(t, pageOf(t, c.runs, c.base, maxBytes)), "<script")
			var got []string
			for _, found := range caption.FindAllStringSubmatch(html, -1) {
				got = append(got, found[1])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("captions (-want +got):\n%s", diff)
			}
		})
	}
}

// The page begins with the result, before any script.
func TestResultFirst(t *testing.T) {
	html, _, _ := strings.Cut(written(t, pageOf(t, scoreFile([]string{"<b>"}, 1, 0), "", maxBytes)), "<noscript")
	if want := `<p id="result">0 of 1 case passed; &lt;b&gt;: pass rate 0.5 (95 % unknown).</p>`; !strings.Contains(html, want) {
		t.Errorf("got %s, want %s", html[max(0, len(html)-300):], want)
	}
}
