// Checks pages in headless Chromium; scripts/check-pages calls it.
"use strict";
const path = require("node:path");
const { source } = require("axe-core");
const puppeteer = require("puppeteer-core");

const VIEWS = [
  { name: "light", width: 1280, scheme: "light" },
  { name: "dark", width: 1280, scheme: "dark" },
  { name: "narrow", width: 400, scheme: "light" },
];

const check = async (browser, file, { name, width, scheme }) => {
  const page = await browser.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`message: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) wrong.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto("file://" + path.resolve(file));
  // What is folded is checked, too.
  await page.evaluate(() => { for (const one of document.querySelectorAll("details")) one.open = true; });
  const widest = await page.evaluate(() => document.documentElement.scrollWidth);
  if (widest > width) wrong.push(`${widest} pixels wide`);
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  for (const { id, impact, nodes } of violations) {
    const line = `${impact}: ${id}, ${nodes.length} times, for example ${nodes[0].html.slice(0, 160)}`;
    if (["serious", "critical"].includes(impact)) wrong.push(line);
    else console.log(`  ${path.basename(file)} ${name}: ${line}`);
  }
  await page.close();
  console.log(`${wrong.length ? "FAILED" : "passed"}: ${path.basename(file)} ${name}`);
  for (const line of wrong) console.log(`  ${line}`);
  return wrong.length;
};

(async () => {
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  let wrong = 0;
  for (const file of process.argv.slice(2)) {
    for (const view of VIEWS) wrong += await check(browser, file, view);
  }
  await browser.close();
  process.exitCode = wrong ? 1 : 0;
})();
