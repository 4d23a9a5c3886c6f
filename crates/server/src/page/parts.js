// Parts that several modules use.

export const find = (id) => document.getElementById(id);

// Makes an element. Texts become text nodes: nothing in them is read as HTML.
export const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
};

// A table with a caption; numbers are on the right.
export const table = (caption, head, rows) => {
  const cell = (name, attributes) => (content) =>
    make(name, typeof content === "number" ? { class: "num", ...attributes } : attributes, shown(content));
  const numeric = rows[0] ?? [];
  const title = (content, at) => make("th", { scope: "col", class: typeof numeric[at] === "number" && "num" }, content);
  return make("table", {},
    make("caption", {}, make("b", {}, caption)),
    make("thead", {}, make("tr", {}, ...head.map(title))),
    make("tbody", {}, ...rows.map(([first, ...rest]) =>
      make("tr", {}, cell("th", { scope: "row" })(first), ...rest.map(cell("td", {}))))));
};

const shown = (content) => (typeof content !== "number" ? content : Number.isInteger(content) ? String(content) : score(content));

// A score with as many digits as say something.
export const score = (value) => (Math.abs(value) >= 1 || value === 0 ? value.toFixed(4) : String(Number(value.toPrecision(5))));

export const milliseconds = (value) => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The part of a text between two bytes, with its matches marked.
export const marked = (text, matches = [], [start, end] = [0, Infinity]) => {
  const bytes = encoder.encode(text);
  const piece = (from, to) => decoder.decode(bytes.subarray(from, to));
  const nodes = [];
  let at = start;
  for (const [from, to] of matches) {
    if (from < at || to > end) continue;
    nodes.push(piece(at, from), make("mark", {}, piece(from, to)));
    at = to;
  }
  nodes.push(piece(at, Math.min(end, bytes.length)));
  return nodes;
};

export const isWhole = (text, [start, end]) => start === 0 && end >= encoder.encode(text).length;
