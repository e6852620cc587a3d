/* The statistics of all runs. */

const data = embedded("data");
const paired = data.against;
const sets = paired ? ["base", "new"] : [""];
const latest = sets[sets.length - 1]; /* the set that the page shows */

/* The interval of the page: clustered by case, because runs of a case are correlated. */
const shown = (m) => m.ci95.pairs || m.ci95.wilson || m.ci95.t;

function overview() {
  const f = data.summary;
  byId("counts").textContent = count(f.runs, "run") + " of " + count(f.cases, "case") + ", up to " + count(f.epochs, "epoch");
  const before = [...notes(), paired ? changes() : null, statistics(), ...data.failures.map((t) => table(t.caption, t.header, t.rows))];
  byId("plots").before(...before.filter(Boolean));
  const after = [resources(), el("p.facts", null, "Choose a case to read its runs.")];
  byId("plots").after(...after.filter(Boolean));
}

/* The resources of the runs, folded on a narrow page, where the cases are below. */
function resources() {
  const tables = data.resources.map((t) => table(t.caption, t.header, t.rows));
  return tables.length ? el("details", { open: matchMedia("(min-width: 60rem)").matches }, el("summary", null, "Steps, calls, tokens, time and cost"), ...tables) : null;
}

/* Missing content and unreadable records. */
function notes() {
  const lines = data.notes.concat(data.summary.unreadable.map((u) => "not read: " + u.file + (u.line ? ":" + u.line : "") + ": " + u.error));
  const list = lines.map((text) => el("li", null, text));
  return lines.length ? [el("details.notes", { open: lines.length < 6 }, el("summary", null, count(lines.length, "note")), el("ul", null, ...list))] : [];
}

function statistics() {
  const scored = data.metrics.filter((m) => m.statistics);
  const rows = scored.map(({ name, statistics: f }) => [name, String(f.n), f.missing ? String(f.missing) : "", f.errors ? String(f.errors) : "",
    formatNumber(f.mean), interval(shown(f)), bar(f), passes(f.pass_hat_k), pairs(f.pairwise)]);
  const caption = paired ? "Scores of new" : "Scores";
  return rows.length ? table(caption, ["metric", "n", "missing", "errors", "mean", "95 %", "0 to 1", "pass^1…", "wins, ties, losses"], rows)
    : el("p", null, caption + ": no run has a score");
}

/* A bar with the mean and its interval between 0 and 1; the numbers are in the columns before. */
function bar(f) {
  if (f.mean === null || f.mean < 0 || f.mean > 1) {
    return "";
  }
  const box = el("div.range", { "aria-hidden": "true" });
  const mark = (what, from, to) => {
    const i = el(what);
    i.style.left = Math.max(0, from) * 100 + "%";
    i.style.right = (1 - Math.min(1, to)) * 100 + "%";
    box.append(i);
  };
  if (shown(f)) {
    mark("i.span", ...shown(f));
  }
  mark("i.dot", f.mean, f.mean);
  return box;
}

/* The pass^k values; a single one would repeat the mean. */
function passes(list) {
  if (!list || list.length < 2) {
    return "";
  }
  return list.slice(0, 10).map((x) => formatNumber(x)).join(" ") + (list.length > 10 ? " …" : "");
}

/* The wins, ties and losses of a pairwise scorer. */
const pairs = (p) => (p ? [p.wins, p.ties, p.losses].join(", ") + "; p (1/2) " + probability(p.p_half) : "");

function changes() {
  const many = data.metrics.length > 1;
  const rows = data.metrics.map((m) => {
    const c = m.change;
    return [m.name, String(c.pairs), formatNumber(c.base), formatNumber(c.new), signed(c.difference), interval(c.ci95.tango || c.ci95.t),
      probability(c.p.mcnemar_mid_p || c.p.permutation), many ? probability(c.p.holm) : "",
      c.discordant ? String(c.regressed.length) : "", c.discordant ? String(c.fixed.length) : ""];
  });
  return table("Changes from base to new",
    ["metric", "cases", "base", "new", "difference", "95 %", "p", "p (Holm)", "regressed", "fixed"], rows);
}
