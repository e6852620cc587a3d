/* The open case and run, their address, and the keys. */

/* number is the open case, or -1; run and beside are numbers of its runs, beside for the comparison. */
const view = { number: -1, run: 0, beside: -1 };

function address(c, run, beside) {
  const parts = { case: c.name, run, ...(beside >= 0 ? { beside } : {}) };
  return "#" + Object.entries(parts).map(([key, value]) => key + "=" + encodeURIComponent(value)).join("&");
}

/* Shows the case of the address. */
function route() {
  const at = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  const was = view.number;
  view.number = at.has("case") ? data.cases.findIndex((c) => c.name === at.get("case")) : -1;
  const c = data.cases[view.number];
  const number = (key, none) => {
    const n = at.has(key) ? Number(at.get(key)) : none;
    return c && c.runs[n] ? n : none;
  };
  view.run = number("run", c ? firstOf(c) : 0);
  view.beside = number("beside", -1);
  document.body.classList.toggle("open", Boolean(c));
  byId("overview").hidden = Boolean(c);
  byId("detail").hidden = !c;
  byId("detail").replaceChildren(...(c ? detail(c) : []));
  marks();
  if (c) {
    show([c.runs[view.run], c.runs[view.beside]]);
  }
  if (was !== view.number) {
    window.scrollTo(0, 0);
    focusOn(c ? byId("case") : linkOf(was));
  }
}

/* Shows the transcripts of runs of the open case as soon as they are decoded. */
async function show(runs) {
  const missing = runs.filter((r) => r && r.transcript >= 0 && !transcriptOf(r));
  const ready = await Promise.all(missing.map((r) => decode(r.transcript)));
  const c = data.cases[view.number];
  if (ready.some(Boolean) && c && c.runs.some((r) => missing.includes(r))) {
    byId("panel").replaceWith(panel(c));
  }
}

function focusOn(e) {
  if (e) {
    e.focus();
    e.scrollIntoView({ block: "nearest" });
  }
}

/* Goes to an address without a reload. */
function go(to) {
  history.pushState(null, "", to);
  route();
}

const open = (i, run, beside) => go(address(data.cases[i], run, beside));
const close = () => go("#");

/* The open run, or two of them side by side. */
function panel(c) {
  const r = c.runs[view.run];
  const other = c.runs[view.beside];
  return el("div", { id: "panel", role: "tabpanel", "aria-label": runName(c, r) }, other ? besideView(c, r, other) : runView(c, r));
}

/* The whole of an open case. */
function detail(c) {
  return [
    el("p.moves", null,
      el("button", { type: "button", onclick: close }, "‹ All cases"),
      el("button", { type: "button", onclick: () => move(-1) }, "Previous"),
      el("button", { type: "button", onclick: () => move(1) }, "Next")),
    el("h2", { id: "case", tabIndex: -1 }, badge(outcomeOf(c, latest)), " ", c.name),
    tabs(c), c.runs.length > 1 ? chooser(c) : null, panel(c),
  ].filter(Boolean);
}

/* The runs of the case, to choose one. */
function tabs(c) {
  const list = c.runs.map((r, i) => {
    const outcome = outcomeOfRun(r);
    return el("button.tab", {
      type: "button", role: "tab", tabIndex: i === view.run ? 0 : -1, "aria-selected": String(i === view.run), "aria-controls": "panel",
      onclick: () => open(view.number, i),
    }, runName(c, r), el("b." + outcome, { title: outcomes[outcome].label }, " ", outcomes[outcome].mark));
  });
  const bar = el("div.tabs", { id: "runs", role: "tablist", "aria-label": "Runs of the case" }, ...list);
  bar.onkeydown = (ev) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[ev.key];
    if (by) {
      ev.preventDefault();
      turn(by);
      byId("runs").children[view.run].focus();
    }
  };
  return bar;
}

function chooser(c) {
  const select = el("select", { id: "beside", onchange: () => open(view.number, view.run, Number(select.value)) },
    el("option", { value: "-1" }, "nothing"),
    ...c.runs.map((r, i) => (i === view.run ? null : el("option", { value: String(i) }, runName(c, r)))).filter(Boolean));
  select.value = String(view.beside);
  return el("p", null, el("label", null, "side by side with ", select));
}

/* The run to compare with: of the other set, or with another outcome, or else the next. */
function partner(c) {
  const r = c.runs[view.run];
  const others = c.runs.filter((o) => o !== r);
  const differs = (o) => outcomeOfRun(o) !== outcomeOfRun(r);
  const best = others.find((o) => o.set !== r.set && o.epoch === r.epoch) || others.find(differs) || others[0];
  return c.runs.indexOf(best);
}

/* Goes to another run of the case. */
function turn(by) {
  const n = data.cases[view.number].runs.length;
  open(view.number, (view.run + by + n) % n);
}

/* Goes to the next listed case, and opens it if a case is open. */
function move(by) {
  const links = byId("list").contains(document.activeElement) ? document.activeElement : linkOf(view.number);
  const at = links ? found.indexOf(Number(links.dataset.number)) + by : by > 0 ? 0 : found.length - 1;
  if (at < 0 || at >= found.length) {
    return;
  }
  const link = linkAt(at);
  if (view.number >= 0) {
    open(found[at], firstOf(data.cases[found[at]]));
  } else {
    focusOn(link);
  }
}

/* The actions of keys outside of text fields. */
const keys = {
  "j": () => move(1),
  "k": () => move(-1),
  "/": () => byId("query").select(),
  "[": () => turn(-1),
  "]": () => turn(1),
  "c": () => {
    const c = data.cases[view.number];
    open(view.number, view.run, view.beside < 0 ? partner(c) : -1);
  },
  "Escape": close,
};

function onKey(ev) {
  if (ev.ctrlKey || ev.altKey || ev.metaKey || ev.defaultPrevented) {
    return;
  }
  const inQuery = ev.target === byId("query");
  const typing = inQuery || ev.target.matches("select, input");
  if (inQuery && ev.key === "Escape") {
    byId("query").value ? search("") : byId("query").blur();
  } else if ((inQuery || byId("list").contains(ev.target)) && ["ArrowDown", "ArrowUp"].includes(ev.key)) {
    move(ev.key === "ArrowDown" ? 1 : -1);
  } else if (!typing && keys[ev.key] && (view.number >= 0 || !"[]c".includes(ev.key))) {
    keys[ev.key]();
  } else {
    return;
  }
  ev.preventDefault();
}

function search(text) {
  byId("query").value = text;
  filter.query = text.trim().toLowerCase();
  list();
  if (filter.query) {
    searchAll(filter.query);
  }
}

/* Searches again when all transcripts are decoded. */
async function searchAll(query) {
  const before = transcripts.size;
  await Promise.all(data.chunks.map(decode));
  if (transcripts.size > before && filter.query === query) {
    list();
  }
}

/* Light, dark, or the setting of the system, which is the default. */
function themes() {
  const names = ["auto", "light", "dark"];
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    byId("theme").textContent = "Colors: " + name;
  };
  byId("theme").onclick = () => set(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
  set(names[0]);
}

function metrics() {
  const select = byId("metric");
  select.append(...(data.metrics.length > 1 ? [el("option", { value: "" }, "all metrics")] : []),
    ...data.metrics.map((m) => el("option", { value: m.name }, m.name)));
  byId("by").hidden = data.metrics.length < 2;
  select.onchange = () => {
    filter.metric = select.value;
    list();
    route();
  };
}

overview();
themes();
metrics();
labelDownload();
list();
route();
byId("more").onclick = () => {
  const first = listed;
  listMore();
  links()[first].focus();
};
let waiting = 0;
byId("query").oninput = () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => search(byId("query").value), 150);
};
addEventListener("hashchange", route);
addEventListener("keydown", onKey);
/* The transcripts come after this script. */
addEventListener("DOMContentLoaded", () => {
  if (view.number >= 0) {
    route();
  }
});
