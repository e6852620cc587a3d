// Package browser opens the page of looptape eval report in a headless Chromium. It checks what people
// can do there, and that foreign text can do nothing.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium starts one browser for all tests.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := installed()
	if err != nil {
		return nil, err
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	return ctx, chromedp.Do(ctx)
})

// installed returns the path of a Chromium.
func installed() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no Chromium: install the package chromium")
}

func TestMain(m *testing.M) {
	code := m.Run()
	if ctx, err := chromium(); err == nil {
		_ = chromedp.Cancel(ctx) // the tests have ended
	}
	os.Exit(code)
}

// tab is a tab with a page.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	asked    []string // requests of the page
	problems []string // errors of scripts
}

// show opens a page with a width in pixels at a fragment. At the end it checks that the page sent no
// request, that no foreign script ran, and that no script failed. It skips the test without a
// Chromium, unless LOOPTAPE_CHROMIUM is set.
func show(t *testing.T, html string, width int64, fragment string) *tab {
	t.Helper()
	browser, err := chromium()
	switch {
	case err == nil:
	case os.Getenv("LOOPTAPE_CHROMIUM") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	p := &tab{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(&p.asked, r.Method+" "+r.URL.String())
		_, _ = w.Write([]byte(html))
	}))
	t.Cleanup(server.Close)
	p.url = server.URL + "/"
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p.ctx = ctx
	p.must(chromedp.Listen(ctx, p.listen))
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(ctx, log.Enable, struct{}{}); return err },
	} {
		p.must(enable())
	}
	const height = 900
	p.must(chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(p.url+fragment)))
	t.Cleanup(p.end)
	p.wait(`!document.body.innerText.includes("still loading this transcript")`)
	return p
}

func (p *tab) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) note(list *[]string, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, text)
}

func (p *tab) listen(ev any) {
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		p.note(&p.asked, "browser "+ev.Request.URL)
	case *runtime.EventExceptionThrown:
		p.note(&p.problems, fmt.Sprint(ev.ExceptionDetails.Text, " ", ev.ExceptionDetails.Exception.Description))
	case *log.EventEntryAdded:
		p.note(&p.problems, ev.Entry.Text)
	}
}

// end checks what all tests have in common.
func (p *tab) end() {
	if planted := eval[string](p, `String(window.planted)`); planted != "undefined" {
		p.t.Errorf("a planted script has run: %s", planted)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.asked {
		url, _, _ := strings.Cut(strings.TrimPrefix(asked, "browser "), "#")
		if url != p.url && asked != "GET /" && !strings.HasPrefix(url, "data:") {
			p.t.Errorf("the page asks for %q", asked)
		}
	}
	if len(p.problems) > 0 {
		p.t.Errorf("problems of the page: %q", p.problems)
	}
}

// eval evaluates JavaScript on the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%v in %s", err, expression)
	}
	return value
}

// wait waits until an expression is true.
func (p *tab) wait(expression string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[bool]("Boolean("+expression+")")); err != nil {
		p.t.Fatalf("%v: never %s; the page is at %s and shows\n%.2000s", err, expression, eval[string](p, `location.hash`), eval[string](p, `document.body.innerText`))
	}
}

// press presses keys, as a keyboard does: a key that the page handles types nothing.
func (p *tab) press(keys string) {
	p.t.Helper()
	for _, key := range keys {
		events := kb.Encode(key)
		down, up := *events[0], *events[len(events)-1]
		down.Type, down.Text = input.DispatchKeyEventTypeKeyDown, events[len(events)/2].Text
		for _, event := range []input.DispatchKeyEventParams{down, up} {
			_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, event)
			p.must(err)
		}
	}
}

// click clicks on the element of a selector, which no other element may cover.
func (p *tab) click(selector string) {
	p.t.Helper()
	if !eval[bool](p, fmt.Sprintf(`(() => {
  const e = document.querySelector(%q);
  e.scrollIntoView({ block: "center" });
  const box = e.getBoundingClientRect();
  const free = e.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
  e.click();
  return free;
})()`, selector)) {
		p.t.Errorf("%s is covered", selector)
	}
}

// choose sets the value of a field.
func (p *tab) choose(selector, value, event string) {
	p.t.Helper()
	eval[any](p, fmt.Sprintf(`(() => {
  const e = document.querySelector(%q);
  e.value = %q;
  e.dispatchEvent(new Event(%q));
})()`, selector, value, event))
}

// media sets the media type, such as print, and the color scheme.
func (p *tab) media(kind, scheme string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: kind, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	p.must(err)
}
