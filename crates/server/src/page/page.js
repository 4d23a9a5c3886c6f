// Starts the page: what is served decides what is shown, and the address which view it is.
import { Refused, ask, keep } from "./api.js";
import { find } from "./parts.js";
import * as runs from "./runs.js";
import * as search from "./search.js";

let served = null;

const describe = ({ model_id, reranker, systems, documents, version }) => {
  const parts = [`version ${version}`];
  if (model_id) parts.push(`model ${model_id}`);
  if (reranker && reranker !== model_id) parts.push(`reranker ${reranker}`);
  if (systems.length) parts.push(`searched: ${systems.join(", ")}`);
  if (documents) parts.push(`${documents.toLocaleString("en")} documents`);
  return parts.join(" · ");
};

const show = () => {
  const [view, rest] = location.hash.slice(1).split(/\?(.*)/s);
  const name = view === "runs" && served.runs ? "runs" : served.systems.length || !served.runs ? "search" : "runs";
  for (const other of ["search", "runs"]) find(other).hidden = other !== name;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name === "runs") runs.list().catch(report);
  else if (served.systems.length) {
    search.show(new URLSearchParams(rest));
    if (!rest) find("query").focus();
  }
};

const report = (error) => {
  const needsKey = error instanceof Refused && error.status === 401;
  find("access").hidden = !needsKey;
  // Who has not given a key yet is only asked for one.
  find("trouble").hidden = needsKey && !find("key").value;
  find("trouble").textContent = error.message;
  if (needsKey) find("key").focus();
};

const start = async () => {
  find("access").hidden = find("trouble").hidden = true;
  served = { systems: [], ...(await ask("info")) };
  find("about").textContent = describe(served);
  document.querySelector("[data-view=runs]").hidden = !served.runs;
  document.querySelector("[data-view=search]").hidden = !served.systems.length;
  if (served.documents) search.withTexts();
  if (served.systems.length) search.start(served);
  else find("ask").hidden = true;
  if (!served.systems.length && !served.runs) report(new Error("Nothing to search is served here, and no runs. The routes of the models are in the API."));
  addEventListener("hashchange", show);
  show();
};

// The address says which view it is, so it stays.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("main").focus();
});
find("access").addEventListener("submit", (event) => {
  event.preventDefault();
  keep(find("key").value);
  start().catch(report);
});
start().catch(report);
