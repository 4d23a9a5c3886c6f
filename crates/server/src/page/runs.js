// Runs: which there are, and the server's own pages that compare them, in a frame.
import { ask, askPage, hasKey } from "./api.js";
import { find, make } from "./parts.js";

let isListed = false;
let shown = null;

// Lists the runs; a folder may have new ones.
export const list = async () => {
  const { judgments, judged_queries, runs } = await ask("v1/runs");
  find("judgments").textContent = `${runs.length} runs, ${judged_queries} judged queries of ${judgments}`;
  const before = new Set(values("checkbox"));
  const baseline = values("radio").find((name) => runs.some((run) => run.name === name)) ?? runs[0]?.name;
  const row = ({ name, bytes }, at) => {
    const compare = make("input", { type: "checkbox", value: name, "aria-label": `Compare ${name}` });
    compare.checked = isListed ? before.has(name) : at < 8;
    const radio = make("input", { type: "radio", name: "baseline", value: name, "aria-label": `${name} is the baseline` });
    radio.checked = name === baseline;
    return make("tr", {}, make("td", { class: "centre" }, compare), make("th", { scope: "row" }, make("bdi", {}, name)),
      make("td", { class: "centre" }, radio), make("td", { class: "num" }, String(Math.ceil(bytes / 1000))));
  };
  find("listed").replaceChildren(...runs.map(row));
  isListed = true;
};

const values = (type) => [...find("listed").querySelectorAll(`input[type=${type}]:checked`)].map((box) => box.value);

// The runs to compare, the baseline first.
const chosen = () => {
  const [baseline] = values("radio");
  const others = values("checkbox").filter((name) => name !== baseline);
  return values("checkbox").length ? [baseline, ...others] : [];
};

find("compare").addEventListener("submit", async (event) => {
  event.preventDefault();
  const kind = event.submitter?.value ?? "report";
  const runs = chosen();
  if (kind === "diff" && runs.length !== 2) {
    find("compared").textContent = "Choose the baseline and one more run for differences.";
    return;
  }
  const asked = new URLSearchParams(runs.map((run) => ["run", run]));
  asked.set("measures", find("measures").value);
  const path = `v1/runs/${kind}?${asked}`;
  find("compared").textContent = "Measuring.";
  try {
    const page = await askPage(path);
    if (shown) URL.revokeObjectURL(shown);
    shown = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    find("frame").src = shown;
    find("frame").title = kind === "report" ? "The report" : "The differences";
    // A link sends no key.
    find("alone").href = hasKey() ? shown : path;
    find("saved").href = shown;
    find("saved").download = `${kind}.html`;
    find("shown").hidden = false;
    find("compared").textContent = kind === "report" ? `A report of ${runs.length} runs.` : `${runs[1]} against ${runs[0]}.`;
  } catch (error) {
    find("shown").hidden = true;
    find("compared").textContent = error.message;
  }
});
