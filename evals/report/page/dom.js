/* What all parts of the page use. Untrusted text becomes the text of an element, never HTML. */

const byId = (id) => document.getElementById(id);

/* An element: its name with classes, as in "td.number", its properties and its content. */
function el(what, props, ...content) {
  const [name, ...classes] = what.split(".");
  const e = document.createElement(name);
  e.className = classes.join(" ");
  for (const [key, value] of Object.entries(props || {})) {
    if (key.includes("-") || key === "role") {
      e.setAttribute(key, value);
    } else {
      e[key] = value;
    }
  }
  e.append(...content.filter((c) => c !== null && c !== undefined && c !== ""));
  return e;
}

function table(caption, head, rows) {
  const used = head.map((_, i) => rows.some((row) => row[i] !== ""));
  const cells = (row, make) => row.map(make).filter((_, i) => used[i]);
  const line = (row) => el("tr", null, ...cells(row, (c, i) => el(i ? "td" : "th", i ? { "data-head": head[i] } : { scope: "row" }, c)));
  return el("table", null,
    el("caption", null, caption),
    el("thead", null, el("tr", null, ...cells(head, (h) => el("th", { scope: "col" }, h)))),
    el("tbody", null, ...rows.map(line)));
}

/* Data in the page; nothing until it is loaded. */
function embedded(id) {
  const e = byId(id);
  return e && JSON.parse(e.textContent);
}

/* The transcripts that are decoded, by number, and the chunks that are being decoded. */
const transcripts = new Map();
const decoding = new Map();

const transcriptOf = (r) => transcripts.get(r.transcript);

/* Decodes the chunk of a transcript; false if the page is still loading it. */
async function decode(number) {
  const chunk = data.chunks.findLastIndex((first) => first <= number);
  const text = embedded("chunk-" + chunk);
  if (!text) {
    return false;
  }
  if (!decoding.has(chunk)) {
    decoding.set(chunk, inflate(text));
    (await decoding.get(chunk)).forEach((t, i) => transcripts.set(data.chunks[chunk] + i, t));
  }
  await decoding.get(chunk);
  return true;
}

/* Decodes DEFLATE in base64url to JSON. */
async function inflate(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

/* An own property of an object by an untrusted name. */
const own = (object, name) => (object && Object.hasOwn(object, name) ? object[name] : undefined);

/* A number with four decimals, or six digits if it is large. */
function formatNumber(x) {
  if (x === null || x === undefined) {
    return "-";
  }
  return Math.abs(x) < 100 ? x.toFixed(4) : String(Number(x.toPrecision(6)));
}

const signed = (x) => (x > 0 ? "+" : "") + formatNumber(x);
const interval = (i) => (i ? formatNumber(i[0]) + " to " + formatNumber(i[1]) : "-");
const probability = (p) => (p !== null && p < 0.0001 ? "<0.0001" : formatNumber(p));
const count = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");

/* JSON with one member per line and unchanged values; null if the text is neither an object nor
   an array. */
function pretty(text) {
  if (!/^\s*[[{]/.test(text)) {
    return null;
  }
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  return text.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{[]|[}\]]|,|:|\s+/g, (t) => {
    switch (t[0]) {
      case "{": case "[":
        if (t.length > 1) {
          return t[0] + t[t.length - 1];
        }
        depth++;
        return t + line();
      case "}": case "]":
        depth--;
        return line() + t;
      case ",":
        return t + line();
      case ":":
        return ": ";
      case "\"":
        return t;
      default:
        return "";
    }
  });
}
