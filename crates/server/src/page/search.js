// The systems side by side: their hits, their stages, where they agree.
import { ask } from "./api.js";
import { hitItem } from "./hit.js";
import { find, make, milliseconds } from "./parts.js";

const NAMES = { sparse: "Sparse", dense: "Dense", hybrid: "Hybrid" };
const columns = find("columns");
let canExplain = false;
let asking = null;

const boxes = () => [...find("systems").querySelectorAll("input")];

// Offers what is served. All systems are chosen, and the best one reranked, unless the address says otherwise.
export const start = (info) => {
  canExplain = info.systems.includes("sparse");
  const offer = (system, rerank) => {
    const name = rerank ? `${system}+reranker` : system;
    const box = make("input", { type: "checkbox", value: name });
    const best = info.systems[0] === system;
    box.checked = !rerank || best;
    find("systems").append(make("label", {}, box, ` ${NAMES[system]}${rerank ? ", reranked" : ""}`));
  };
  for (const rerank of info.reranks_hits ? [false, true] : [false]) {
    for (const system of ["sparse", "dense", "hybrid"]) if (info.systems.includes(system)) offer(system, rerank);
  }
  find("k").max = String(Math.min(1000, info.max_k));
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = boxes().filter((box) => box.checked).map((box) => box.value);
    const asked = new URLSearchParams({ q: find("query").value, k: find("k").value, systems: chosen.join(" ") });
    const wanted = `#search?${asked}`;
    if (location.hash === wanted) show(asked);
    else location.hash = wanted;
  });
};

// Shows the search of an address.
export const show = (asked) => {
  if (asked.has("systems")) {
    const chosen = asked.get("systems").split(" ");
    for (const box of boxes()) box.checked = chosen.includes(box.value);
  }
  if (asked.has("k")) find("k").value = asked.get("k");
  find("query").value = asked.get("q") ?? "";
  if (find("query").value) search(find("query").value, Number(find("k").value));
};

// One system after the other, so that none slows the stages of another down.
const search = async (query, k) => {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const chosen = boxes().filter((box) => box.checked).map((box) => box.value);
  columns.replaceChildren(...chosen.map(column));
  find("found").textContent = chosen.length ? "Searching." : "Choose a system.";
  let [hits, answered] = [0, 0];
  for (const [at, name] of chosen.entries()) {
    const [system, reranker] = name.split("+");
    const body = { query, k, system, rerank: Boolean(reranker), texts: hasTexts };
    try {
      const answer = await ask("v1/search", { body, signal: mine.signal });
      answered += 1;
      hits += answer.results[0].hits.length;
      fill(columns.children[at], answer, { query, k });
    } catch (error) {
      if (mine.signal.aborted) return;
      columns.children[at].lastElementChild.replaceWith(make("p", { class: "trouble" }, error.message));
    }
  }
  agree();
  const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const failed = chosen.length - answered;
  const said = [];
  if (answered) said.push(`${counted(hits, "hit")} of ${counted(answered, "system")}.`);
  if (failed) said.push(`${counted(failed, "system")} failed.`);
  find("found").textContent = said.join(" ") || "Choose a system.";
};

let hasTexts = false;
export const withTexts = () => { hasTexts = true; };

const title = (name) => {
  const [system, reranker] = name.split("+");
  return NAMES[system] + (reranker ? ", reranked" : "");
};

const column = (name, at) => {
  const section = make("section", { class: "system", "aria-labelledby": `system-${at}` },
    make("h3", { id: `system-${at}` }, title(name)), make("p", { class: "hint" }, "…"));
  section.dataset.name = title(name);
  return section;
};

const fill = (section, answer, { query, k }) => {
  const { hits } = answer.results[0];
  const last = answer.stages.findLast(({ stage }) => stage !== "texts").stage;
  const list = hits.length
    ? make("ol", { class: "documents" }, ...hits.map((hit) => hitItem(hit, { query, k, last, canExplain })))
    : make("p", { class: "hint" }, "No hits.");
  section.lastElementChild.replaceWith(times(answer.stages), list);
};

// Each stage has a colour of its own.
const STAGES = ["encode", "scan", "postings", "fuse", "texts", "rerank", "queue"];

// How long each stage took: a bar, and the numbers.
const times = (stages) => {
  const sum = stages.reduce((sum, stage) => sum + stage.milliseconds, 0);
  const colour = ({ stage }) => `s${STAGES.indexOf(stage)}`;
  const pieces = stages.map((stage) => {
    const piece = make("span", { class: colour(stage) });
    piece.style.flexGrow = String(stage.milliseconds / (sum || 1));
    return piece;
  });
  const item = (stage) => make("li", {}, make("span", { class: `badge ${colour(stage)}`, "aria-hidden": "true" }, "■"), `${stage.stage} ${milliseconds(stage.milliseconds)}`);
  return make("div", { class: "times" },
    make("div", { class: "stages", "aria-hidden": "true" }, ...pieces),
    make("ul", { "aria-label": "Time of each stage" }, ...stages.map(item), make("li", {}, make("b", {}, milliseconds(sum)))));
};

// Shows at each hit which other systems found its document, and at which rank.
const agree = () => {
  const all = [...columns.querySelectorAll(".hit")];
  const system = (hit) => hit.closest(".system").dataset.name;
  const alike = Map.groupBy(all, (hit) => hit.dataset.id);
  for (const hit of all) {
    const others = alike.get(hit.dataset.id).filter((other) => other !== hit);
    const elsewhere = others.map((other) => `${system(other)} ${other.querySelector(".rank").textContent}`);
    hit.querySelector(".elsewhere").textContent = elsewhere.length ? `also ${elsewhere.join(" · ")}` : "";
    const mark = (same) => () => { for (const other of others) other.classList.toggle("same", same); };
    hit.addEventListener("pointerenter", mark(true));
    hit.addEventListener("pointerleave", mark(false));
    hit.addEventListener("focusin", mark(true));
    hit.addEventListener("focusout", mark(false));
  }
};

// Goes from hit to hit and from system to system by keys.
const go = (down, right) => {
  const sections = [...columns.children];
  const here = document.activeElement.closest(".hit");
  const across = here ? sections.indexOf(here.closest(".system")) : 0;
  const section = sections[Math.max(0, Math.min(sections.length - 1, across + right))];
  const hits = [...(section?.querySelectorAll(".hit") ?? [])];
  const place = here ? [...here.parentElement.children].indexOf(here) + down : 0;
  const next = hits[Math.max(0, Math.min(hits.length - 1, place))];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
};
const open = () => {
  const details = document.activeElement.closest(".hit")?.querySelector("details");
  if (details) details.open = !details.open;
};
const explain = () => document.activeElement.closest(".hit")?.querySelector(".act").click();
const KEYS = { "/": () => find("query").focus(), j: () => go(1, 0), k: () => go(-1, 0), h: () => go(0, -1), l: () => go(0, 1), o: open, e: explain };

// Single keys are also commands of speech input and of screen readers: they can be switched off.
const SHORTCUTS = "toller-shortcuts";
const shortcuts = find("shortcuts");
try { shortcuts.checked = localStorage.getItem(SHORTCUTS) !== "off"; } catch { /* Private windows keep nothing. */ }
shortcuts.addEventListener("change", () => {
  try { localStorage.setItem(SHORTCUTS, shortcuts.checked ? "on" : "off"); } catch { /* The same. */ }
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox]), textarea");
  if (event.key === "Escape" && isTyping) {
    // A browser would empty the field.
    event.preventDefault();
    event.target.blur();
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !shortcuts.checked || find("search").hidden) return;
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});
