// Keeps what is filled in in the browser, and saves it as CSV.
const key = "toller-diff " + document.body.dataset.key;
const notes = recall(key);
const fields = (article) => [article.querySelector(".category"), article.querySelector(".note")];
const tell = () => {
  const filled = articles.filter((article) => fields(article)[0].value.trim());
  document.querySelector("#filled").textContent = `${filled.length} of ${articles.length} filled in`;
  for (const article of articles) article.classList.toggle("filled", filled.includes(article));
  const used = filled.flatMap((article) => fields(article)[0].value.split(";").map((name) => name.trim()));
  const list = document.querySelector("#categories");
  const known = new Set([...list.options].map((option) => option.value));
  for (const name of used) if (name && !known.has(name)) { known.add(name); list.append(new Option(name, name)); }
};
const name = (article) => article.dataset.id + (article.dataset.doc ? "\n" + article.dataset.doc : "");
for (const article of articles) {
  const [category, note] = fields(article);
  [category.value, note.value] = notes[name(article)] || ["", ""];
  const keep = () => {
    notes[name(article)] = [category.value, note.value];
    remember(key, notes);
  };
  for (const field of [category, note]) field.addEventListener("input", keep);
  for (const field of [category, note]) field.addEventListener("change", tell);
}
tell();

const save = () => {
  const pairs = articles.some((article) => article.dataset.doc);
  const gains = articles.some((article) => article.dataset.gain);
  const rows = [["query_id", "query", ...(pairs ? ["doc_id"] : []), ...(gains ? ["gain"] : []), "category", "note"]];
  for (const article of articles) {
    const query = article.querySelector(".query").textContent;
    const extra = [...(pairs ? [article.dataset.doc] : []), ...(gains ? [article.dataset.gain] : [])];
    rows.push([article.dataset.id, query, ...extra, ...fields(article).map((field) => field.value)]);
  }
  saveCsv("categories.csv", rows);
};
document.querySelector("#save").addEventListener("click", save);

navigate((article) => !fields(article)[0].value.trim(), {
  c: () => { if (here < 0) go(0); fields(articles[here])[0].focus(); },
  s: save,
});
