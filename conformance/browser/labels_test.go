package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report/page"
)

// label sets labels on the page, and returns the file that the page then downloads.
func (p *tab) label(labels map[string]string) string {
	p.t.Helper()
	folder, events := p.t.TempDir(), true
	done := make(chan struct{}, 1)
	p.must(chromedp.Listen(p.ctx, func(ev any) {
		if e, ok := ev.(*cdp.EventDownloadProgress); ok && e.State == cdp.DownloadProgressStateCompleted {
			select {
			case done <- struct{}{}:
			default:
			}
		}
	}))
	_, err := chromedp.Call(p.ctx, cdp.SetDownloadBehavior, cdp.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: folder, EventsEnabled: &events})
	p.must(err)
	for metric, value := range labels {
		p.choose(`[aria-label="Label of `+metric+`"]`, value, "change")
	}
	p.click("#download")
	select {
	case <-done:
	case <-p.ctx.Done():
		p.must(p.ctx.Err())
	}
	text, err := os.ReadFile(filepath.Join(folder, "labels.jsonl"))
	p.must(err)
	return string(text)
}

// labeled returns the plain page with labels.
func labeled(t *testing.T, labels string) *page.Page {
	t.Helper()
	p := plainPage(t)
	l, err := evals.ReadLabels("labels.jsonl", strings.NewReader(labels))
	if err != nil {
		t.Fatal(err)
	}
	if unread, err := p.Report.Summary.AddLabels(p.Report.Result, l); err != nil || len(unread) > 0 {
		t.Fatal(unread, err)
	}
	return p
}

// TestLabels labels runs on the page, reads the downloaded file as eval score --labels does, and changes
// the labels on a page with them.
func TestLabels(t *testing.T) {
	p := show(t, plain(t), 1280, "#case=cancel&run=1")
	same(t, "the link before", true, eval[bool](p, `document.querySelector("#download").hidden`))
	first := p.label(map[string]string{"score": "1", "messages": "4"})
	const cancel = `{"case":"cancel","epoch":0,"metric":"score","label":1}
{"case":"cancel","epoch":0,"metric":"messages","label":4}
`
	same(t, "file", sorted(cancel), sorted(first))
	same(t, "a field for a run of the base", 0, eval[int](show(t, plain(t), 1280, "#case=cancel&run=0"), `document.querySelectorAll("[aria-label^=Label]").length`))

	with := labeled(t, first)
	a := with.Report.Summary.Labels["score"]
	if a == nil || a.Labels != 1 || *a.Agree != 0 {
		t.Fatalf("labels of score: %+v", a)
	}
	p = show(t, written(t, with), 390, "#case=cancel&run=1")
	same(t, "values", "1 4", eval[string](p, `["score", "messages"].map((m) => document.querySelector("[aria-label='Label of " + m + "']").value).join(" ")`))
	same(t, "the link with labels", "Download 2 labels", eval[string](p, `document.querySelector("#download").textContent`))
	same(t, "table", "Labels of people", eval[string](p, `[...document.querySelectorAll("caption")].map((e) => e.textContent).find((c) => c.startsWith("Labels"))`))
	same(t, "file without a label", `{"case":"cancel","epoch":0,"metric":"messages","label":5.5}`+"\n", p.label(map[string]string{"score": "", "messages": "5.5"}))
}

func sorted(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) == 2 && lines[0] > lines[1] {
		lines[0], lines[1] = lines[1], lines[0]
	}
	return strings.Join(lines, "\n")
}
