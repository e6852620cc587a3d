/* One run of a case: its scores and its transcript. */

const runName = (c, r) => {
  const number = r.epoch >= 0 ? "epoch " + r.epoch : "run " + (runsOf(c, r.set || "").indexOf(r) + 1);
  return paired ? r.set + ", " + number : number;
};

function runView(c, r) {
  const t = transcriptOf(r);
  return el("div", null, facts(r), scores(r, labelField), gradings(r), t ? transcript(t) : lost(r));
}

/* Why there is no transcript. */
function lost(r) {
  const loading = r.transcript >= 0;
  if (loading && typeof DecompressionStream === "undefined") {
    return el("p.notes", null, "This browser cannot decode transcripts: it lacks DecompressionStream.");
  }
  return el("p.notes", null, loading ? "The page is still loading this transcript." :
    "The page has no transcript of this run; see the notes at the top. Its recording: " + place(r));
}

const place = (r) => r.file + (r.line ? ":" + r.line : "") + " (" + r.run + ")";

function facts(r) {
  const words = [place(r)];
  if (r.cluster) {
    words.push("cluster " + r.cluster);
  }
  if (r.steps) {
    const calls = Object.values(r.calls || {}).reduce((sum, c) => sum + c.n, 0);
    words.push(count(r.steps, "step") + " with " + count(calls, "call"));
  }
  if (r.usage) {
    words.push(r.usage.input_tokens.toLocaleString("en") + " input tokens, " + r.usage.output_tokens.toLocaleString("en") + " output tokens");
  }
  if (r.cost) {
    words.push("cost " + formatNumber(r.cost));
  }
  if (r.latency_ns) {
    words.push(Number((r.latency_ns / 1e9).toPrecision(4)) + " s");
  }
  return el("p.facts", null, words.join(" · "));
}

/* The scores of a run; field, if there is one, makes the field for the label of a score. */
function scores(r, field) {
  const rows = data.metrics.map(({ name, success }) => {
    const v = own(r.scores, name);
    const why = own(r.errors, name) || own(r.explanations, name) || "";
    const words = v !== undefined ? String(Number(v.toPrecision(6))) : why ? "error" : "missing";
    const good = success && v ? ".good" : success || v === undefined ? ".bad" : "";
    return [name, el("span" + good, null, words), field ? field(r, name, success) : "", explanation(why)];
  });
  return rows.length ? table("Scores of the run", ["metric", "score", "label", "explanation"], rows) : null;
}

/* The responses of models that graded the run. */
function gradings(r) {
  const list = Object.entries(r.gradings || {}).map(([name, g]) => el("details.graded", null,
    el("summary", null, "Responses of the grader of " + name), ...g.responses.map((text) => block(text, {}))));
  return list.length ? el("div", null, ...list) : null;
}

const explanation = (text) => (text.length > 300 ? el("details", null, el("summary", null, short(text, 160)), text) : text);

function transcript(t) {
  const list = el("ol.entries", null, ...t.entries.map(entry));
  if (t.left) {
    list.append(el("li.entry.note", null, count(t.left, "more entry").replace(/entrys$/, "entries") + " of this run are only in its recording"));
  }
  return el("div", null, wanted(t), t.answer ? el("div", null, el("h3", null, "Final answer"), block(t.answer.text, t.answer)) : null, list);
}

function wanted(t) {
  if (!t.want) {
    return null;
  }
  const list = t.want.map((e) => el("li", null, e.kind === "call" ? called(e) : block(e.text, e)));
  return el("details.wanted", null, el("summary", null, "Expected: " + count(list.length, t.want[0].kind === "call" ? "call" : "answer")), el("ol", null, ...list));
}

const labels = {
  system: "System", user: "User", assistant: "Assistant", reasoning: "Reasoning", refusal: "Refusal",
  call: "Call", result: "Result without a call", other: "Assistant", note: "Note", error: "Error",
};

/* An entry of a transcript. */
function entry(e) {
  const failed = e.failed || e.kind === "error" || e.kind === "refusal";
  return el("li.entry." + e.kind + (failed ? ".failed" : ""), null, ...parts(e));
}

function parts(e) {
  switch (e.kind) {
    case "call":
      return [el("div.pair", null,
        el("div.side", { role: "group", "aria-label": "Call of " + e.name }, label(e), called(e)),
        el("div.side", { role: "group", "aria-label": "Result of " + e.name }, ...answered(e, "Result"))), ...(e.runs || []).map(started)];
    case "result":
      return answered(e, labels.result);
    case "system": {
      const text = e.shared ? embedded("text-" + e.shared) || "" : e.text;
      return [el("details", null, el("summary", null, labels.system, el("span.facts", null, " " + count(text.length, "character"))), block(text, e))];
    }
    case "note": case "error": case "other":
      return [el("p", null, e.kind === "error" ? el("b.bad", null, "Error: ") : null, e.text || "", steps(e))];
    default:
      return [label(e), block(e.text || "", e)];
  }
}

const label = (e) => el("p.label", null, labels[e.kind], steps(e));

/* The step that begins with an entry, its purpose, and its unusual finish reason. */
function steps(e) {
  const words = e.step ? [" step " + e.step] : [];
  if (e.purpose) {
    words.push("for " + e.purpose);
  }
  if (e.finish && !["stop", "tool_calls"].includes(e.finish)) {
    words.push("finish reason " + e.finish);
  }
  return words.length ? el("span.facts", null, words.join(", ")) : null;
}

/* The tool and the arguments of a call. */
function called(e) {
  return el("div", null, el("p.tool", null, el("code", null, e.name || "(no name)")), argumentsOf(e.text || ""),
    e.ran ? el("div", null, el("p.label", null, "Run with"), argumentsOf(e.ran)) : null, cutOf(e));
}

const argumentsOf = (text) => (/^\s*(\{\s*\})?\s*$/.test(text) ? null : block(text, {}));

/* The result of a call. */
function answered(e, name) {
  const words = [name, e.failed ? el("b.bad", null, " error") : null, e.skipped ? " not run here: " + e.skipped : null];
  return [el("p.label", null, ...words.filter(Boolean)), e.answered ? block(e.result || "", {}) : el("p.facts", null, "none")];
}

/* A run that a call started. */
function started(t) {
  return el("details.started", null, el("summary", null, "The run that this call started: " + count(t.entries.length, "entry").replace(/entrys$/, "entries")), transcript(t));
}

const cutOf = (e) => (e.cut ? el("p.facts", null, "… " + e.cut.toLocaleString("en") + " more bytes are only in the recording") : null);

/* Text; of long text only the beginning until the reader unfolds it. */
function block(text, e) {
  const layout = pretty(text);
  const pre = el("div.text" + (layout ? ".code" : ""), null, layout || text || "(empty)");
  const box = el("div", null, pre, cutOf(e));
  if ((layout || text).length > 3000 || (layout || text).split("\n").length > 30) {
    const button = el("button.whole", { type: "button", "aria-expanded": "false" });
    const update = () => {
      const open = pre.classList.toggle("clipped") === false;
      button.textContent = open ? "Show less" : "Show all " + count((layout || text).length, "character");
      button.setAttribute("aria-expanded", String(open));
    };
    button.onclick = update;
    update();
    box.append(button);
  }
  return box;
}
