package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// names returns the names of the listed cases.
func (p *tab) names() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("#list .name")].map((e) => e.textContent)`)
}

// same compares the content of the page with the expected content.
func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const focused = `document.activeElement.textContent`

// All functions of the page work with the keyboard, and the focus is always visible.
func TestKeys(t *testing.T) {
	p := show(t, plain(t), 1280, "")
	same(t, "cases", []string{"cancel", "book", "wait", "pay"}, p.names())
	for _, step := range []struct{ keys, until string }{
		{"j", `document.activeElement.matches("#list li:nth-child(1) a")`},
		{"j", `document.activeElement.matches("#list li:nth-child(2) a")`},
		{kb.ArrowDown, `document.activeElement.matches("#list li:nth-child(3) a")`},
		{kb.ArrowUp + "k", `document.activeElement.matches("#list li:nth-child(1) a")`},
		{"k", `document.activeElement.matches("#list li:nth-child(1) a")`}, // no case comes before it
		{"j" + kb.Enter, `document.activeElement.id === "case" && location.hash === "#case=book&run=1"`},
		{"]", `location.hash === "#case=book&run=2" && document.querySelector("[aria-selected=true]").textContent.startsWith("new, epoch 1")`},
		{"]", `location.hash === "#case=book&run=0"`},
		{"[", `location.hash === "#case=book&run=2"`},
		{"c", `location.hash === "#case=book&run=2&beside=1" && document.querySelectorAll(".columns .entries").length === 2`},
		{"c", `location.hash === "#case=book&run=2" && !document.querySelector(".columns")`},
		{"j", `location.hash === "#case=wait&run=0" && document.activeElement.id === "case"`},
		{"k", `location.hash === "#case=book&run=1"`},
		{kb.Escape, `!document.body.classList.contains("open") && document.activeElement.matches("#list li:nth-child(2) a")`},
		{"/", `document.activeElement.id === "query"`},
		{"paid", `document.querySelectorAll("#list li").length === 1`},
		{kb.ArrowDown, `document.activeElement.matches("#list li:nth-child(1) a")`},
		{"/" + kb.Escape, `document.querySelectorAll("#list li").length === 4 && document.activeElement.id === "query"`},
		{kb.Escape, `document.activeElement.id !== "query"`},
	} {
		p.press(step.keys)
		p.wait(step.until)
		if !eval[bool](p, `document.activeElement === document.body || parseFloat(getComputedStyle(document.activeElement).outlineWidth) > 0`) {
			t.Errorf("after %q the focus on %s is not to be seen", step.keys, eval[string](p, focused))
		}
	}
}

// The tab key reaches each control, and each has a name.
func TestTab(t *testing.T) {
	for _, at := range []string{"", "#case=book&run=1&beside=0"} {
		p := show(t, plain(t), 1280, at)
		controls := eval[int](p, `[...document.querySelectorAll("a, button, input, select, summary")].filter((e) => e.checkVisibility() && e.tabIndex >= 0).length`)
		reached := map[string]bool{}
		for range controls + 1 { // and the body, where the order starts again
			p.press(kb.Tab)
			reached[eval[string](p, `(() => {
  const e = document.activeElement;
  if (e === document.body) {
    return "body";
  }
  const name = e.getAttribute("aria-label") || (e.labels && e.labels.length && e.labels[0].textContent) || e.textContent;
  return name.trim() && parseFloat(getComputedStyle(e).outlineWidth) > 0 ? [...document.querySelectorAll("*")].indexOf(e) + name : "";
})()`)] = true
		}
		delete(reached, "body")
		if reached[""] || len(reached) != controls {
			t.Errorf("at %q: %d of %d controls are reached, with names and a visible focus: %v", at, len(reached), controls, reached)
		}
	}
}

// The roles for screen readers.
func TestRoles(t *testing.T) {
	p := show(t, plain(t), 1280, "#case=book&run=1")
	for selector, want := range map[string]int{
		"header": 1, "main": 1, "search": 1, "h1": 1, "h2": 1, "[role=tablist]": 1, "[role=tab]": 3, "[role=tab][aria-selected=true]": 1,
		"[role=tabpanel]#panel": 1, "[role=status]#found": 1, "#list a[aria-current=true]": 1, ".choice[aria-pressed=true]": 1, "section:not([aria-label])": 0,
		"html[lang=en]": 1, "#detail caption": 1, "#detail th[scope]": 6, "[role=group][aria-label='Result of book']": 1,
	} {
		if got := eval[int](p, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector)); got != want {
			t.Errorf("%s is there %d times, want %d", selector, got, want)
		}
	}
}

func TestFilter(t *testing.T) {
	p := show(t, plain(t), 1280, "")
	choose := func(kind string) {
		t.Helper()
		p.click(`.choice[data-kind="` + kind + `"]`)
	}
	same(t, "choices", "all4 failed1 mixed1 not scored1 passed1 regressed1 only in new1",
		strings.Join(eval[[]string](p, `[...document.querySelectorAll(".choice")].map((e) => e.textContent)`), " "))
	for _, c := range []struct {
		kind string
		want []string
	}{
		{"failed", []string{"cancel"}}, {"mixed", []string{"book"}}, {"not_scored", []string{"wait"}}, {"passed", []string{"pay"}},
		{"regressed", []string{"cancel"}}, {"only in new", []string{"wait"}}, {"all", []string{"cancel", "book", "wait", "pay"}},
	} {
		choose(c.kind)
		same(t, c.kind, c.want, p.names())
		same(t, "what is pressed", c.kind, eval[string](p, `document.querySelector(".choice[aria-pressed=true]").dataset.kind`))
	}
	search := func(text string, want ...string) {
		t.Helper()
		p.choose("#query", text, "input")
		list, _ := json.Marshal(want)
		p.wait(`JSON.stringify([...document.querySelectorAll("#list .name")].map((e) => e.textContent)) === ` + fmt.Sprintf("%q", list))
	}
	search("PAY", "pay")
	search("12.50", "pay")            // an argument
	search("nothing is free", "book") // a result
	search(`"table": 7`, "book")      // with characters that JSON escapes
	same(t, "tables", []string{"Changes from base to new", "Scores of new", "Failures by cause", "Changed resources", "Changed tool calls per run", "Resources"},
		eval[[]string](p, `[...document.querySelectorAll("caption")].map((e) => e.textContent)`))
	search("as many as", "cancel", "book", "wait", "pay") // an explanation
	search("very very", []string{}...)                    // a system prompt
	search("answered", []string{}...)                     // a word of the page itself
	search("", "cancel", "book", "wait", "pay")

	// A metric with grades has no failed case.
	p.choose("#metric", "messages", "change")
	same(t, "choices by a metric that grades", []string{"all", "scored", "only in new"}, eval[[]string](p, `[...document.querySelectorAll(".choice")].map((e) => e.dataset.kind)`))
	same(t, "sums", "5.0000 → 5.0000", eval[string](p, `document.querySelector("#list .sum").textContent`))
}

// A case shows the conversation in its order, each call next to its result.
func TestRead(t *testing.T) {
	p := show(t, plain(t), 1280, "#case=book&run=2")
	same(t, "entries", []string{"system", "user", "call", "assistant"}, eval[[]string](p, `[...document.querySelectorAll("#detail .entry")].map((e) => e.classList[1])`))
	same(t, "call", "Call step 1\nbook\n{\n  \"at\": \"20:00\"\n}", eval[string](p, `document.querySelector(".side").innerText.replace(/\n+/g, "\n")`))
	same(t, "result", "Result\nError: nothing is free", eval[string](p, `document.querySelectorAll(".side")[1].innerText.replace(/\n+/g, "\n")`))
	sides := eval[[]float64](p, `[...document.querySelectorAll(".side")].flatMap((e) => [e.getBoundingClientRect().top, e.getBoundingClientRect().left])`)
	if sides[0] != sides[2] || sides[1] >= sides[3] {
		t.Errorf("a call and its result are at %v, want them side by side", sides)
	}
	p.click(".entry.system summary")
	p.wait(`document.querySelector(".entry.system").innerText.includes("very very kind.")`)
	same(t, "what it took", "2 steps with 1 call", strings.Split(eval[string](p, `document.querySelector("#detail .facts").textContent`), " · ")[1])
	same(t, "what a grader said", "I count them.", eval[string](p, `document.querySelector(".graded .text").textContent`))
	same(t, "scores", "messages 5  as many as were said / score 0 none1 pass0 fail", eval[string](p, `[...document.querySelectorAll("#detail tbody tr")].map((e) => [...e.children].map((c) => c.textContent).join(" ").trim()).join(" / ")`))
}

// Two runs are shown next to each other with their differences.
func TestSideBySide(t *testing.T) {
	p := show(t, plain(t), 1280, "#case=book&run=0&beside=2")
	same(t, "equal", "Equal in both: 2 entries", eval[string](p, `document.querySelector(".equal summary").textContent`))
	same(t, "divergence", "The runs diverge here", eval[string](p, `document.querySelector(".divergence").textContent`))
	same(t, "marks", 2, eval[int](p, `document.querySelectorAll(".entry.only").length`))
	same(t, "calls", "Different calls: 2", eval[string](p, `document.querySelector(".calls summary").textContent`))
	columns := eval[[]float64](p, `[...document.querySelectorAll(".divergence + .columns > *")].map((e) => e.getBoundingClientRect().top)`)
	if len(columns) != 2 || columns[0] != columns[1] {
		t.Errorf("the runs begin at %v, want them side by side", columns)
	}
	p.must(chromedp.Do(p.ctx, chromedp.Navigate(p.url+"#case=pay&run=0&beside=1")))
	p.wait(`document.querySelector(".divergence") && document.querySelector(".divergence").textContent === "The runs are equal."`)
}

// An address opens its case or run, and the list of cases if it does not exist.
func TestAddress(t *testing.T) {
	for at, want := range map[string]string{
		"":                          "none",
		"#":                         "none",
		"#case=nobody":              "none",
		"#case=book":                "book: new, epoch 0",
		"#case=book&run=7":          "book: new, epoch 0",
		"#case=book&run=-1":         "book: new, epoch 0",
		"#case=book&run=length":     "book: new, epoch 0",
		"#case=book&run=2&beside=9": "book: new, epoch 1",
		"#case=book&run=0":          "book: base, epoch 0",
		"#%":                        "none",
	} {
		p := show(t, plain(t), 1280, at)
		same(t, at, want, eval[string](p, `document.querySelector("#case") ? document.querySelector("#case").lastChild.data + ": " + document.querySelector("[aria-selected=true]").firstChild.data : "none"`))
	}
	p := show(t, plain(t), 1280, "#case=book")
	eval[any](p, `document.querySelector("#list a").click()`)
	p.wait(`document.querySelector("#case").lastChild.data === "cancel"`)
	eval[any](p, `history.back()`)
	p.wait(`document.querySelector("#case").lastChild.data === "book"`)
}

// The system or the switch selects light or dark.
func TestColours(t *testing.T) {
	p := show(t, plain(t), 1280, "")
	ground := func() string { return eval[string](p, `getComputedStyle(document.body).backgroundColor`) }
	const light, dark = "rgb(251, 251, 250)", "rgb(22, 24, 27)"
	p.media("", "dark")
	same(t, "a dark system", dark, ground())
	p.media("", "light")
	same(t, "a light system", light, ground())
	for i, want := range []string{light, dark, light} { // light, dark, and as in the system
		p.click("#theme")
		same(t, fmt.Sprint("the switch, pressed ", i+1, " times"), want, ground())
	}
	p.media("print", "dark")
	same(t, "controls in print", []string{"none", "none"}, eval[[]string](p, `["#theme", "search"].map((s) => getComputedStyle(document.querySelector(s)).display)`))
	p.media("print", "light")
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF())
	if err != nil || !strings.HasPrefix(string(pdf), "%PDF-") {
		t.Errorf("printing: %v", err)
	}
}

// No element is wider than the window, also with long words.
func TestWidths(t *testing.T) {
	long := strings.Repeat("x", 3000)
	runs := run(long, 0, 1, long, long, fmt.Sprintf(`{%q: %q}`, long, long), long, long) + run(long, 1, 0, long, long, long, "", long)
	wide := made(t, long, long, runs, run(long, 0, 0, long, long, long, long, long))
	for name, html := range map[string]string{"book": plain(t), long: wide} {
		for _, width := range []int64{400, 1280} {
			p := show(t, html, width, "")
			for _, at := range []string{"#", "#case=" + name + "&run=1", "#case=" + name + "&run=1&beside=2"} {
				eval[any](p, fmt.Sprintf(`location.hash = %q`, at))
				p.wait(fmt.Sprintf(`document.body.classList.contains("open") === %v && Boolean(document.querySelector(".columns")) === %v`, at != "#", strings.Contains(at, "beside")))
				eval[any](p, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
				if got := eval[int64](p, `document.documentElement.scrollWidth`); got > width {
					t.Errorf("at %.40q the page is %d wide in a window of %d", at, got, width)
				}
			}
		}
	}
}

// A long list of cases is loaded in parts, and each case can be reached.
func TestMany(t *testing.T) {
	var runs strings.Builder
	for i := range 450 {
		runs.WriteString(run(fmt.Sprint("case ", i), 0, 1, "Hello.", "look", "{}", "found", fmt.Sprint("Answer ", i)))
	}
	p := show(t, made(t, "many", "runs.jsonl", runs.String(), ""), 1280, "")
	same(t, "listed", 200, len(p.names()))
	p.click("#more")
	same(t, "listed then", 400, len(p.names()))
	same(t, "focus", "case 200", eval[string](p, `document.activeElement.querySelector(".name").textContent`))
	same(t, "the button", "Show 50 more of 50 cases", eval[string](p, `document.querySelector("#more").textContent`))
	p.press("k" + strings.Repeat("j", 250))
	p.wait(`document.activeElement.querySelector(".name").textContent === "case 449"`)
	same(t, "the button is gone", true, eval[bool](p, `document.querySelector("#more").hidden`))
	p.press(kb.Enter)
	p.wait(`document.querySelector("#panel") && document.querySelector("#panel").innerText.includes("Answer 449")`)
}

// A page of 10,000 runs is small, and logs how long it takes to load.
func TestSize(t *testing.T) {
	const most = 10_000_000 // bytes
	var runs strings.Builder
	for i := range 10_000 {
		answer := fmt.Sprintf("Answer %d: %s", i, strings.Repeat(fmt.Sprintf("flight %d leaves at %d:%02d, ", i*7919%997, i%24, i%60), 12))
		runs.WriteString(run(fmt.Sprint("case ", i/4), i%4, float64(i%2), "Which flights leave on day "+fmt.Sprint(i%31)+"?", "flights", fmt.Sprintf(`{"day":%d}`, i%31), answer, answer))
	}
	html := made(t, "size", "runs.jsonl", runs.String(), "")
	if len(html) > most {
		t.Errorf("the page has %d bytes, want %d at most", len(html), most)
	}
	p := show(t, html, 1280, "#case=case%202499&run=3")
	p.wait(`document.querySelector("#panel").innerText.includes("Answer 9999")`)
	t.Logf("%d bytes, loaded in %.0f ms", len(html), eval[float64](p, `performance.getEntriesByType("navigation")[0].loadEventEnd`))
}
