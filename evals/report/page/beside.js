/* Two runs side by side. */

/* What an entry says, whatever its ids. */
const sameAs = (e) => JSON.stringify([e.kind, e.text, e.shared, e.name, e.ran, e.failed, e.skipped, e.result]);
const sameCall = (e) => JSON.stringify([e.name, pretty(e.text || "") || e.text]);

function besideView(c, a, b) {
  const [left, right] = [a, b].map((r) => embedded("run-" + r.transcript));
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
    callsApart(c, a, b, left, right),
    same ? el("details.alike", { open: ends }, el("summary", null, "Alike in both: " + count(same, "entry").replace(/entrys$/, "entries")),
      el("ol.entries", null, ...left.entries.slice(0, same).map(entry))) : null,
    ends ? el("p.parting", { role: "note" }, "Both runs say the same.") : el("p.parting", { role: "note" }, "Here the runs part"),
    ends ? null : el("div.columns", null, apart(c, a, left, right, same), apart(c, b, right, left, same)));
}

const column = (c, r, content) => el("section.column", { "aria-label": runName(c, r) }, el("h3", null, runName(c, r)), ...content);

/* The entries behind the parting. Calls that the other run has, too, say so. */
function apart(c, r, t, other, from) {
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

/* How often a run makes each call. */
function tally(t) {
  const calls = new Map();
  for (const e of t.entries.filter((e) => e.kind === "call")) {
    const key = sameCall(e);
    calls.set(key, { e, n: (calls.get(key) || { n: 0 }).n + 1 });
  }
  return calls;
}

/* The calls that one run makes and the other does not, or less often. */
function callsApart(c, a, b, left, right) {
  const [ours, theirs] = [tally(left), tally(right)];
  const rows = [];
  for (const [key, { e }] of new Map([...theirs, ...ours])) {
    const [n, m] = [ours, theirs].map((t) => (t.get(key) || { n: 0 }).n);
    if (n !== m) {
      rows.push([el("code", null, short(e.name + " " + (e.text || ""), 160)), String(n), String(m)]);
    }
  }
  const words = rows.length ? "Calls that differ: " + rows.length : "Both make the same calls, " + ours.size + " in all";
  return rows.length ? el("details.calls", null, el("summary", null, words), table("How often each run makes a call", ["call", runName(c, a), runName(c, b)], rows)) : el("p.facts", null, words);
}
