package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// strange counts elements that only foreign HTML can create.
const strange = `[...document.querySelectorAll("*")].filter((e) =>
  e.matches("img, iframe, svg:not(.plot > svg), svg :not(title, desc, line, circle, rect, text, polyline, polygon), object, embed, form, base, video, audio, math, a:not([href^='#']), head ~ head, body ~ body") ||
  (e.matches("script") && e.type !== "application/json" && !e.textContent.startsWith('"use strict"')) ||
  [...e.attributes].some((a) => a.name.startsWith("on") || a.value.includes("javascript:") && !["aria-label", "data-head", "value", "href", "title"].includes(a.name))).map((e) => e.outerHTML.slice(0, 200))`

// Scripts in names, texts, calls, scores and files must be text on the page: in each case, each run, each
// comparison of two runs, by each metric and in a search. show checks at the end that no script ran and
// that the page sent no request.
func TestPlanted(t *testing.T) {
	p := show(t, hostile(t), 1280, "")
	same(t, "cases", len(payloads()), len(p.names()))
	clean := func(what string) {
		t.Helper()
		same(t, what, []string{}, eval[[]string](p, strange))
	}
	clean("the overview")
	for i, bad := range payloads() {
		eval[any](p, fmt.Sprintf(`location.hash = "#case=" + encodeURIComponent(%s)`, quoted(bad)))
		p.wait(fmt.Sprintf(`document.querySelector("#case") && document.querySelector("#case").lastChild.data === %s`, quoted(bad)))
		for range 3 {
			p.press("]")
			p.wait(`!document.body.innerText.includes("still loading this transcript")`)
			clean(bad)
			if got := eval[int](p, fmt.Sprintf(`[...document.querySelectorAll("#panel .text")].filter((e) => e.textContent.includes(%s)).length`, quoted(bad))); got < 2 {
				t.Errorf("%s is in %d texts of the run", bad, got)
			}
		}
		p.press("c")
		p.wait(`document.querySelector(".columns")`)
		clean(bad + ", side by side")
		eval[any](p, fmt.Sprintf(`document.querySelector("#metric").selectedIndex = %d`, i))
		eval[any](p, `document.querySelector("#metric").dispatchEvent(new Event("change"))`)
		clean(bad + ", by a metric")
	}
	p.press(`/<script>window.planted = "query"</script>`)
	p.wait(`document.querySelectorAll("#list li").length === 0`)
	clean("a search")
}

// The Content-Security-Policy is the last barrier: code that is added to the page does not run, and its
// requests are not sent.
func TestPolicy(t *testing.T) {
	p := show(t, plain(t), 1280, "")
	eval[any](p, `document.body.append(Object.assign(document.createElement("script"), { textContent: "window.planted = 'added'" }))`)
	eval[any](p, `document.body.append(Object.assign(document.createElement("script"), { src: "/planted.js" }))`)
	eval[any](p, `document.body.insertAdjacentHTML("beforeend", "<img src='/planted.png' onerror='window.planted = 1'><iframe src='/planted.html'></iframe><link rel='stylesheet' href='/planted.css'>")`)
	eval[any](p, `void fetch("/planted").catch(() => { window.refused = true; })`)
	p.wait(`window.refused`)
	p.must(chromedp.Do(p.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(p.url)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) < 5 {
		t.Errorf("the policy refused only %q", p.problems)
	}
	p.problems = nil
	p.asked = slices.DeleteFunc(p.asked, func(asked string) bool { return strings.HasPrefix(asked, "browser ") }) // and rejected
}

// quoted returns a string literal of JavaScript.
func quoted(text string) string {
	spelled := ""
	for _, r := range text {
		spelled += fmt.Sprintf(`\u{%x}`, r)
	}
	return `"` + spelled + `"`
}
