// A hit: its document, opened in place, and why it has its score.
import { ask } from "./api.js";
import { isWhole, make, marked, score, table } from "./parts.js";

const document_ = ({ title, text, matches, best }) => {
  const parts = [];
  if (title) parts.push(make("div", { class: "title", dir: "auto" }, title));
  if (text === undefined) return parts;
  if (isWhole(text, best)) {
    parts.push(make("div", { class: "passage", dir: "auto" }, ...marked(text, matches)));
  } else {
    const part = make("span", { class: "part" }, best[0] > 0 ? "… " : "", ...marked(text, matches, best), " …");
    const more = make("span", { class: "more" });
    parts.push(make("details", { class: "document" },
      make("summary", { class: "passage", dir: "auto" }, part, " ", more),
      make("div", { class: "passage", dir: "auto" }, ...marked(text, matches))));
  }
  return parts;
};

const stages = (hit, last) => {
  const rows = [...(hit.before ?? []), { stage: last, rank: hit.rank, score: hit.score }];
  return table("Scores by stage", ["Stage", "Rank", "Score"], rows.map(({ stage, rank, score }) => [stage, rank, score]));
};

const terms = ({ score: sum, length, terms }) => {
  const found = terms.filter((term) => term.frequency > 0);
  const missing = terms.filter((term) => term.frequency === 0).map((term) => term.term);
  const rows = found.map((term) => [term.term, term.weight, term.documents, term.frequency, term.score]);
  const parts = [];
  if (rows.length) {
    const caption = `Sparse score ${score(sum)}: the sum of its terms; the document has ${length} terms`;
    parts.push(table(caption, ["Term", "Weight", "Documents", "Here", "Score"], rows));
  } else parts.push(make("p", { class: "hint" }, "The document has no term of the query."));
  if (rows.length && missing.length) parts.push(make("p", { class: "hint" }, "Not in the document: ", ...missing.flatMap((term) => [make("bdi", {}, term), " "])));
  return parts;
};

// `last` is the stage that gave the score; `canExplain` says whether there is an inverted index.
export const hitItem = (hit, { query, k, last, canExplain }) => {
  const why = make("div", { class: "why", hidden: true });
  const explain = async () => {
    why.hidden = !why.hidden;
    button.setAttribute("aria-expanded", String(!why.hidden));
    // What failed is asked again.
    if (why.querySelector(".trouble")) why.replaceChildren();
    if (why.hidden || why.childNodes.length) return;
    why.append(stages(hit, last));
    if (!canExplain) return;
    try {
      const [found] = await ask("v1/explain", { body: { query, ids: [hit.id], k } });
      why.append(...terms(found));
    } catch (error) {
      why.append(make("p", { class: "trouble" }, error.message));
    }
  };
  const button = make("button", { type: "button", class: "act", "aria-expanded": "false", click: explain },
    "Explain", make("span", { class: "vh" }, ` the score of ${hit.id}`));
  const item = make("li", { class: "hit", tabindex: "-1" },
    make("div", { class: "about" },
      make("span", { class: "rank" }, String(hit.rank)),
      make("bdi", { class: "id" }, hit.id),
      make("span", { class: "score" }, score(hit.score)),
      make("span", { class: "elsewhere" }),
      button),
    ...document_(hit), why);
  item.dataset.id = hit.id;
  return item;
};
