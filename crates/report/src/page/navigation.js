// Goes from entry to entry by keys; `isOpen` says which entries are still to be filled in.
const articles = all("article");
let here = -1;
const go = (to) => {
  if (!articles.length) return;
  here = Math.max(0, Math.min(articles.length - 1, to));
  articles[here].focus({ preventScroll: true });
  articles[here].scrollIntoView({ block: "start" });
};
articles.forEach((article, at) => article.addEventListener("focusin", () => { here = at; }));
const unfold = () => {
  if (here < 0) go(0);
  const folded = all("details", articles[here]);
  const open = folded.some((one) => !one.open);
  for (const one of folded) one.open = open;
};
const navigate = (isOpen, actions) => {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest("article")) { go(here); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=radio]), textarea")) return;
    const next = () => articles.findIndex((article, at) => at > here && isOpen(article));
    const act = { j: () => go(here + 1), k: () => go(here - 1), n: () => { if (next() >= 0) go(next()); }, o: unfold, ...actions }[event.key];
    if (act && articles.length) { event.preventDefault(); act(); }
  });
};
