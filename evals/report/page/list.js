/* The cases, filtered. */

const outcomes = {
  failed: { label: "failed", mark: "✗" },
  mixed: { label: "mixed", mark: "±" },
  not_scored: { label: "not scored", mark: "?" },
  scored: { label: "scored", mark: "=" },
  passed: { label: "passed", mark: "✓" },
};
/* An empty metric means the outcome by all success metrics. */
const filter = { query: "", outcome: "all", metric: data.metrics.length === 1 ? data.metrics[0].name : "" };
const most = 200; /* number of cases that one click lists */
let found = []; /* numbers of cases */
let listed = 0;

const metricOf = (name) => data.metrics.find((m) => m.name === name);
const runsOf = (c, set) => c.runs.filter((r) => (r.set || "") === set);

/* The number of the run that a case opens with: the first of the latest set, if it has one. */
const firstOf = (c) => Math.max(0, c.runs.indexOf(runsOf(c, latest)[0]));

/* The outcome of a run by the chosen metric. */
function outcomeOfRun(r) {
  const score = own(r.scores, filter.metric);
  if (!filter.metric) {
    return r.outcome;
  }
  if (score === undefined) {
    return "not_scored";
  }
  return !metricOf(filter.metric).success ? "scored" : score ? "passed" : "failed";
}

/* The outcome of a case in a set: that of its runs, or mixed; empty without runs. */
function outcomeOf(c, set) {
  const all = new Set(runsOf(c, set).map(outcomeOfRun));
  return all.size > 1 ? "mixed" : [...all].join("");
}

/* The changed cases by the chosen metric. */
function changed() {
  if (!paired) {
    return {};
  }
  const by = data.metrics.filter((m) => !filter.metric || m.name === filter.metric).map((m) => m.change);
  return {
    "regressed": new Set(by.flatMap((c) => c.regressed)), "fixed": new Set(by.flatMap((c) => c.fixed)),
    "only in base": new Set(data.only_base), "only in new": new Set(data.only_new),
  };
}

/* The filters that show a case: its outcome and its changes. */
const kindsOf = (c, lists) => ["all", outcomeOf(c, latest), ...Object.keys(lists).filter((kind) => lists[kind].has(c.name))];

/* Reports whether a case contains a text, except in its system prompts. */
function contains(c, query) {
  const has = (text) => text.toLowerCase().includes(query);
  return !query || has(c.name) || c.runs.some((r) => textOf(r).includes(query) ||
    Object.values(r.errors || {}).some(has) || Object.values(r.explanations || {}).some(has));
}

const texts = new Map();

/* The text of a run for the search, in lower case. */
function textOf(r) {
  if (!texts.has(r)) {
    const t = transcriptOf(r);
    if (!t) {
      return "";
    }
    const words = [];
    gather(t, words);
    texts.set(r, words.join("\n").toLowerCase());
  }
  return texts.get(r);
}

function gather(t, words) {
  for (const e of [...(t.want || []), ...(t.answer ? [t.answer] : []), ...t.entries]) {
    words.push(e.text || "", e.name || "", e.ran || "", e.skipped || "", e.result || "");
    (e.runs || []).forEach((run) => gather(run, words));
  }
}

/* Filters the cases again and lists the first ones. */
function list() {
  const matches = data.cases.map((c) => contains(c, filter.query));
  const counts = {};
  const lists = changed();
  found = [];
  data.cases.forEach((c, i) => {
    const kinds = matches[i] ? kindsOf(c, lists) : [];
    kinds.forEach((kind) => { counts[kind] = (counts[kind] || 0) + 1; });
    if (kinds.includes(filter.outcome)) {
      found.push(i);
    }
  });
  const rank = Object.keys(outcomes);
  const order = data.cases.map((c) => rank.indexOf(outcomeOf(c, latest)));
  const byName = new Intl.Collator("en", { numeric: true });
  found.sort((a, b) => order[a] - order[b] || byName.compare(data.cases[a].name, data.cases[b].name));
  choices(counts);
  byId("found").textContent = found.length === data.cases.length ? count(found.length, "case") : found.length + " of " + count(data.cases.length, "case");
  byId("list").replaceChildren();
  listed = 0;
  listMore();
}

function listMore() {
  const next = found.slice(listed, listed + most);
  byId("list").append(...next.map(item));
  listed += next.length;
  byId("more").hidden = listed === found.length;
  byId("more").textContent = "Show " + Math.min(most, found.length - listed) + " more of " + count(found.length - listed, "case");
  marks();
}

/* The buttons that filter the list. A button without cases is omitted. */
function choices(counts) {
  const names = ["all", ...Object.keys(outcomes), "regressed", "fixed", "only in base", "only in new"];
  const buttons = names.filter((name) => counts[name] || name === filter.outcome || name === "all").map((name) => {
    const b = el("button.choice", { type: "button", "aria-pressed": String(name === filter.outcome), onclick: () => choose(name) },
      (outcomes[name] || { label: name }).label, el("b", null, String(counts[name] || 0)));
    b.dataset.kind = name;
    return b;
  });
  const had = document.activeElement && document.activeElement.dataset.kind;
  byId("outcomes").replaceChildren(...buttons);
  const again = buttons.find((b) => b.dataset.kind === had);
  if (again) {
    again.focus();
  }
}

function choose(name) {
  filter.outcome = name;
  list();
}

/* A case in the list. */
function item(i) {
  const c = data.cases[i];
  const outcome = outcomeOf(c, latest);
  const link = el("a", { href: address(c, firstOf(c)) }, badge(outcome), el("span.name", null, short(c.name, 200)),
    el("span.sum", null, summed(c)),
    c.asked && !c.name.startsWith(c.asked.slice(0, 40)) ? el("span.asked", null, c.asked) : null);
  link.dataset.number = i;
  return el("li", null, link);
}

function badge(outcome) {
  const o = outcomes[outcome] || { label: "no run", mark: "·" };
  return el("span.badge." + (outcome || "none"), { title: o.label }, el("span", { "aria-hidden": "true" }, o.mark), el("span.hidden", null, o.label));
}

/* The passed runs of a case, or its mean score, in each set. */
function summed(c) {
  return sets.map((set) => {
    const runs = runsOf(c, set);
    const values = runs.map((r) => own(r.scores, filter.metric)).filter((v) => v !== undefined);
    if (!runs.length) {
      return "–";
    }
    if (!filter.metric || metricOf(filter.metric).success) {
      return runs.filter((r) => outcomeOfRun(r) === "passed").length + "/" + runs.length;
    }
    return values.length ? formatNumber(values.reduce((a, b) => a + b, 0) / values.length) : "?";
  }).join(" → ");
}

const short = (text, n) => (text.length > n ? text.slice(0, n) + "…" : text);

/* The links of the list, and the link of a case by its number. */
const links = () => [...document.querySelectorAll("#list a")];
const linkOf = (i) => document.querySelector("#list a[data-number=\"" + i + "\"]");

/* Marks the case that is open. */
function marks() {
  for (const a of links()) {
    if (Number(a.dataset.number) === view.number) {
      a.setAttribute("aria-current", "true");
    } else {
      a.removeAttribute("aria-current");
    }
  }
}

/* Lists cases up to a position and returns the link there. */
function linkAt(at) {
  while (at >= listed && listed < found.length) {
    listMore();
  }
  return links()[at];
}
