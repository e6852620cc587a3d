/* What all parts of the page use. Foreign text becomes text of an element, and nothing
   else: there is no way to HTML here. */

const byId = (id) => document.getElementById(id);

/* An element: its name with classes, as in "td.number", its properties, and what is in it. */
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

/* Data that stands in the page; nothing if it is not there yet. */
function embedded(id) {
  const e = byId(id);
  return e && JSON.parse(e.textContent);
}

/* What an object has by a foreign name, which may be one that all objects have. */
const own = (object, name) => (object && Object.hasOwn(object, name) ? object[name] : undefined);

/* A number for people: four digits behind the point, or six in all where it is large. */
function figure(x) {
  if (x === null || x === undefined) {
    return "-";
  }
  return Math.abs(x) < 100 ? x.toFixed(4) : String(Number(x.toPrecision(6)));
}

const signed = (x) => (x > 0 ? "+" : "") + figure(x);
const interval = (i) => (i ? figure(i[0]) + " to " + figure(i[1]) : "-");
const probability = (p) => (p !== null && p < 0.0001 ? "<0.0001" : figure(p));
const count = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");

/* JSON with a line a member, each value in the digits and letters that were sent; null if
   the text is no object and no array. */
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
