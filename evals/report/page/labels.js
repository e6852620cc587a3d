/* The labels that people give to the scores of the shown runs, and their download. */

let unsaved = false;

/* A field for the label of a score; nothing for a run of the base. */
function labelField(r, metric, success) {
  if ((r.set || "") !== latest) {
    return "";
  }
  const label = own(r.labels, metric);
  const name = "Label of " + metric;
  const text = label === undefined ? "" : String(label);
  const usual = success && ["", "0", "1"].includes(text);
  const field = usual ? el("select", { "aria-label": name }, ...["", "1", "0"].map((v) => el("option", { value: v }, v ? { 1: "1 pass", 0: "0 fail" }[v] : "none")))
    : el("input", { type: "number", step: "any", "aria-label": name, size: 6 });
  field.value = text;
  field.onchange = () => {
    const value = field.value === "" ? NaN : Number(field.value);
    r.labels = { ...r.labels };
    delete r.labels[metric];
    if (Number.isFinite(value)) {
      Object.defineProperty(r.labels, metric, { value, enumerable: true, configurable: true });
    }
    unsaved = true;
    countLabels();
  };
  return field;
}

/* The labels as the lines of a file for --labels. */
function labelLines() {
  const lines = [];
  for (const c of data.cases) {
    for (const r of runsOf(c, latest)) {
      for (const [metric, label] of Object.entries(r.labels || {})) {
        const run = r.epoch >= 0 ? { epoch: r.epoch } : r.digest ? { digest: r.digest } : {};
        lines.push(JSON.stringify({ case: c.name, ...run, metric, label }));
      }
    }
  }
  return lines;
}

/* Shows the number of labels on the button that downloads them. */
function countLabels() {
  const n = labelLines().length;
  byId("download").textContent = "Download " + count(n, "label");
  byId("download").hidden = !n && !unsaved;
}

function labelDownload() {
  byId("download").onclick = () => {
    const text = labelLines().map((line) => line + "\n").join("");
    el("a", { download: "labels.jsonl", href: "data:application/jsonl," + encodeURIComponent(text) }).click();
    unsaved = false;
  };
  addEventListener("beforeunload", (ev) => {
    if (unsaved) {
      ev.preventDefault();
    }
  });
  countLabels();
}
