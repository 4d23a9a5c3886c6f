// Picks a run out: in every figure the others step back.
const pick = (run) => {
  document.body.classList.toggle("picked", run !== null);
  for (const mark of all("[data-run]")) mark.classList.toggle("chosen-run", mark.dataset.run === run);
};
let kept = null;
for (const button of all("[data-pick]")) {
  const run = button.dataset.pick;
  button.addEventListener("pointerenter", () => pick(run));
  button.addEventListener("pointerleave", () => pick(kept));
  button.addEventListener("click", () => {
    kept = kept === run ? null : run;
    for (const other of all("[data-pick]")) other.setAttribute("aria-pressed", String(other.dataset.pick === kept));
    pick(kept);
  });
}

// Reads a bar: by the pointer, or by the slider and the arrow keys. The texts come from the panel's table.
for (const probe of all(".probe")) {
  const [svg, slider, output] = ["svg", "input", "output"].map((name) => probe.querySelector(name));
  const bars = all(".bar", svg);
  const rows = all("tbody tr", probe);
  const mark = svg.querySelector(".chosen");
  if (!bars.length) continue;
  slider.hidden = false;
  const show = (at) => {
    const [id, text, before, after, difference] = [...rows[at].cells].map((cell) => cell.textContent.trim());
    mark.setAttribute("x", bars[at].getAttribute("x"));
    mark.setAttribute("visibility", "visible");
    output.textContent = `${difference} (${before} → ${after}) ${id}${text ? ": " + text : ""}`;
    slider.setAttribute("aria-valuetext", output.textContent);
    slider.value = at;
  };
  slider.addEventListener("input", () => show(Number(slider.value)));
  svg.addEventListener("pointermove", (event) => {
    const [first, last] = [bars[0], bars[bars.length - 1]].map((bar) => bar.getBoundingClientRect());
    const share = (event.clientX - first.left) / (last.right - first.left);
    show(Math.max(0, Math.min(bars.length - 1, Math.floor(share * bars.length))));
  });
}

// A table can be saved, and sorted by a column.
const content = (cell) => {
  const copy = cell.cloneNode(true);
  for (const extra of all("sup, small, .vh", copy)) extra.remove();
  return copy.textContent.replaceAll("\u2212", "-").trim().replace(/\s+/g, " ");
};
const value = (row, column) => {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? content(cell);
  return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
};
const sortBy = (table, head, column) => {
  const body = table.tBodies[0];
  const descending = head.getAttribute("aria-sort") !== "descending";
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)) * (descending ? -1 : 1));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  body.append(...rows);
};
for (const table of all("table[data-csv]")) {
  const save = document.createElement("button");
  save.type = "button";
  save.className = "save";
  save.textContent = "CSV";
  save.setAttribute("aria-label", `Save the table ${table.dataset.csv} as CSV`);
  save.addEventListener("click", () => {
    const cell = (cell) => (cell.dataset.value ?? content(cell));
    saveCsv(table.dataset.csv.replace(/[^\w.@-]+/g, "-") + ".csv", [...table.rows].map((row) => [...row.cells].map(cell)));
  });
  table.caption.firstElementChild.append(" ", save);
  // The order of bars, and of a matrix, has a meaning.
  if (table.closest(".probe") || table.dataset.csv.startsWith("pairs")) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, head, column));
    head.append(button);
  });
}

// On paper everything is unfolded, except the numbers of figures and the ends of passages.
let folded = [];
addEventListener("beforeprint", () => {
  folded = all("details:not(.numbers):not([open])").filter((one) => !one.closest("article"));
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
