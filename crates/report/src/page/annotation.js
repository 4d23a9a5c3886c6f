// Keeps the grades in the browser, and saves them as CSV.
const key = "toller-annotate " + document.body.dataset.key;
const kept = recall(key);
const annotator = document.querySelector("#annotator");
const name = (article) => article.dataset.id + "\n" + article.dataset.doc;
const grade = (article) => article.querySelector("input:checked")?.value ?? "";
const tell = () => {
  const filled = articles.filter((article) => grade(article) !== "");
  document.querySelector("#filled").textContent = `${filled.length} of ${articles.length} judged`;
  for (const article of articles) article.classList.toggle("filled", filled.includes(article));
};
const keep = () => {
  kept.annotator = annotator.value;
  kept.grades = Object.fromEntries(articles.map((article) => [name(article), grade(article)]));
  remember(key, kept);
  tell();
};
annotator.value = kept.annotator ?? "";
for (const article of articles) {
  const value = kept.grades?.[name(article)];
  for (const input of all("input", article)) {
    input.checked = input.value === value;
    input.addEventListener("change", keep);
  }
}
annotator.addEventListener("input", keep);
tell();

const save = () => {
  const rows = articles.map((article) => [article.dataset.id, article.dataset.doc, grade(article), annotator.value.trim()]);
  const file = document.title.toLowerCase().replace(/\s+/g, "-") + (annotator.value.trim() ? "-" + annotator.value.trim().replace(/[^\w-]+/g, "-") : "");
  saveCsv(file + ".csv", [["query_id", "doc_id", "grade", "annotator"], ...rows]);
};
document.querySelector("#save").addEventListener("click", save);

const choose = (at) => () => {
  if (here < 0) go(0);
  const input = all("input", articles[here])[at];
  if (!input) return;
  input.checked = true;
  keep();
  go(here + 1);
};
const digits = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => [digit, choose(digit - 1)]));
navigate((article) => grade(article) === "", { ...digits, s: save });
