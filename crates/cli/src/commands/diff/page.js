"use strict";
// Keeps what is filled in in the browser, and saves it as CSV. Works on a file without any server.
(() => {
  const articles = [...document.querySelectorAll("article")];
  const key = "toller-diff " + document.body.dataset.key;
  let kept = {};
  try { kept = JSON.parse(localStorage.getItem(key)) || {}; } catch { /* private windows keep nothing */ }
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
  for (const article of articles) {
    const [category, note] = fields(article);
    [category.value, note.value] = kept[article.dataset.id] || ["", ""];
    const keep = () => {
      kept[article.dataset.id] = [category.value, note.value];
      try { localStorage.setItem(key, JSON.stringify(kept)); } catch { /* as above */ }
    };
    for (const field of [category, note]) field.addEventListener("input", keep);
    for (const field of [category, note]) field.addEventListener("change", tell);
  }
  tell();

  const cell = (text) => {
    // Spreadsheets compute what starts like a formula, numbers aside.
    const safe = /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(text) ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  const save = () => {
    const rows = [["query_id", "query", "gain", "category", "note"]];
    for (const article of articles) {
      const query = article.querySelector("h2").textContent;
      rows.push([article.dataset.id, query, article.dataset.gain, ...fields(article).map((field) => field.value)]);
    }
    const csv = rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", csv], { type: "text/csv" }));
    link.download = "categories.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  document.querySelector("#save").addEventListener("click", save);

  let here = -1;
  const go = (to) => {
    if (!articles.length) return;
    here = Math.max(0, Math.min(articles.length - 1, to));
    articles[here].focus({ preventScroll: true });
    articles[here].scrollIntoView({ block: "start" });
  };
  articles.forEach((article, at) => article.addEventListener("focusin", () => { here = at; }));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest("article")) { go(here); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea")) return;
    const unfilled = () => articles.findIndex((article, at) => at > here && !fields(article)[0].value.trim());
    const act = {
      j: () => go(here + 1),
      k: () => go(here - 1),
      n: () => { const next = unfilled(); if (next >= 0) go(next); },
      c: () => { if (here < 0) go(0); fields(articles[here])[0].focus(); },
      o: () => {
        if (here < 0) go(0);
        const folded = [...articles[here].querySelectorAll("details")];
        const open = folded.some((one) => !one.open);
        for (const one of folded) one.open = open;
      },
      s: save,
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
