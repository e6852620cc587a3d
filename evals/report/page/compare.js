/* Two runs side by side. */

/* The content of an entry, without ids. */
const sameAs = (e) => JSON.stringify([e.kind, e.text, e.shared, e.name, e.ran, e.failed, e.skipped, e.result]);
const sameCall = (e) => JSON.stringify([e.name, pretty(e.text || "") || e.text]);

function besideView(c, a, b) {
  const [left, right] = [a, b].map(transcriptOf);
  if (!left || !right) {
    return el("div", null, left ? null : lost(a), right ? null : lost(b));
  }
  let same = 0;
  while (same < left.entries.length && same < right.entries.length && sameAs(left.entries[same]) === sameAs(right.entries[same])) {
    same++;
  }
  const ends = same === left.entries.length && same === right.entries.length;
  return el("div", null,
    el("div.columns", null, column(c, a, [facts(a), scores(a)]), column(c, b, [facts(b), scores(b)])),
    differentCalls(c, a, b, left, right),
    same ? el("details.equal", { open: ends }, el("summary", null, "Equal in both: " + count(same, "entry").replace(/entrys$/, "entries")),
      el("ol.entries", null, ...left.entries.slice(0, same).map(entry))) : null,
    ends ? el("p.divergence", { role: "note" }, "The runs are equal.") : el("p.divergence", { role: "note" }, "The runs diverge here"),
    ends ? null : el("div.columns", null, diverged(c, a, left, right, same), diverged(c, b, right, left, same)));
}

const column = (c, r, content) => el("section.column", { "aria-label": runName(c, r) }, el("h3", null, runName(c, r)), ...content);

/* The entries after the divergence. Each call is marked as in both runs or only in this one. */
function diverged(c, r, t, other, from) {
  const theirs = tally(other);
  const list = el("ol.entries", null, ...t.entries.slice(from).map((e) => {
    const li = entry(e);
    if (e.kind === "call") {
      const both = theirs.has(sameCall(e));
      li.classList.add(both ? "both" : "only");
      li.prepend(el("p.facts", null, both ? "this call is in both" : "this call is only here"));
    }
    return li;
  }));
  if (t.entries.length <= from) {
    list.append(el("li.entry.note", null, "This run has ended."));
  }
  return column(c, r, [list]);
}

/* The number of times that a run makes each call. */
function tally(t) {
  const calls = new Map();
  for (const e of t.entries.filter((e) => e.kind === "call")) {
    const key = sameCall(e);
    calls.set(key, { e, n: (calls.get(key) || { n: 0 }).n + 1 });
  }
  return calls;
}

/* The calls that one run makes more often than the other. */
function differentCalls(c, a, b, left, right) {
  const [ours, theirs] = [tally(left), tally(right)];
  const rows = [];
  for (const [key, { e }] of new Map([...theirs, ...ours])) {
    const [n, m] = [ours, theirs].map((t) => (t.get(key) || { n: 0 }).n);
    if (n !== m) {
      rows.push([el("code", null, short(e.name + " " + (e.text || ""), 160)), String(n), String(m)]);
    }
  }
  const words = rows.length ? "Different calls: " + rows.length : "Both runs make the same calls, " + ours.size + " in total";
  return rows.length ? el("details.calls", null, el("summary", null, words), table("Number of calls in each run", ["call", runName(c, a), runName(c, b)], rows)) : el("p.facts", null, words);
}
