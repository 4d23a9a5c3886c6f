// What every page uses. Pages work without it: scripts add comfort.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// A cell of a CSV file. Spreadsheets compute what starts like a formula, numbers aside. Apostrophes in front get one more.
const csvCell = (text) => {
  const safe = /^'*[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
};

const saveCsv = (name, rows) => {
  const csv = rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", csv], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// What was filled in stays in the browser; private windows keep nothing.
const recall = (key) => {
  try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; }
};
const remember = (key, value) => {
  try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* as above */ }
};
