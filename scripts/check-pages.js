// Checks pages in headless Chromium; scripts/check-pages calls it with files, with the address of a server
// whose page is used as people use it, and with `keys:` before that of a server whose key is `reader`. SCREENSHOTS names a folder for pictures.
"use strict";
const path = require("node:path");
const { source } = require("axe-core");
const puppeteer = require("puppeteer-core");

const VIEWS = [
  { name: "light", width: 1280, scheme: "light" },
  { name: "dark", width: 1280, scheme: "dark" },
  { name: "narrow", width: 400, scheme: "light" },
];

// Opens a page; what is wrong with it is added to `wrong` from then on.
const opened = async (browser, address, { width, scheme }, wrong) => {
  const page = await browser.newPage();
  const own = address.startsWith("file:") ? "file:" : new URL(address).origin;
  page.on("console", (message) => wrong.push(`message: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (![own, "blob:", "data:"].some((start) => request.url().startsWith(start))) wrong.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width, height: 900 });
  // A page that scrolls smoothly would move under the pointer.
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }]);
  await page.goto(address);
  return page;
};

// Looks at what a page shows now.
const inspect = async (page, name, { name: view, width }, wrong) => {
  const label = `${name} ${view}`;
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}-${view}.png`), fullPage: true });
  }
  const widest = await page.evaluate(() => document.documentElement.scrollWidth);
  if (widest > width) wrong.push(`${widest} pixels wide`);
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  for (const { id, impact, nodes } of violations) {
    const line = `${impact}: ${id}, ${nodes.length} times, for example ${nodes[0].html.slice(0, 160)}`;
    if (["serious", "critical"].includes(impact)) wrong.push(line);
    else console.log(`  ${label}: ${line}`);
  }
  console.log(`${wrong.length ? "FAILED" : "passed"}: ${label}`);
  for (const line of wrong) console.log(`  ${line}`);
  return wrong.splice(0).length;
};

const checkFile = async (browser, file, view) => {
  const wrong = [];
  const page = await opened(browser, "file://" + path.resolve(file), view, wrong);
  // What is folded is checked, too.
  await page.evaluate(() => { for (const one of document.querySelectorAll("details")) one.open = true; });
  const count = await inspect(page, path.basename(file), view, wrong);
  await page.close();
  return count;
};

// Searches, opens a document, explains a score, compares runs: with the keyboard where people would use it.
const checkServer = async (browser, address, view) => {
  const wrong = [];
  const expect = (is, what) => { if (!is) wrong.push(`expected: ${what}`); };
  const page = await opened(browser, address, view, wrong);
  const text = (selector) => page.$eval(selector, (element) => element.textContent);
  const count = (selector) => page.$$eval(selector, (all) => all.length);
  const until = (condition, ...rest) => page.waitForFunction(condition, { timeout: 30_000 }, ...rest);

  await page.waitForSelector("#systems input");
  let sum = await inspect(page, "server", view, wrong);

  // The query field has the focus.
  await page.keyboard.type("river light");
  for (const box of await page.$$("#systems input:not(:checked)")) await box.click();
  await page.focus("#query");
  await page.keyboard.press("Enter");
  await until(() => document.querySelector("#found").textContent.includes(" of "));
  const systems = await count(".system");
  expect(systems === 6, `six systems, not ${systems}`);
  expect((await count(".hit")) === 10 * systems, "ten hits of each system");
  expect((await count(".stages span")) > systems, "stages of each system");
  expect((await count(".hit mark")) > 0, "marked terms");
  expect((await text(".elsewhere")).includes("also"), "other systems with the same document");
  expect((await count(".hit img")) === 0, "no image out of a text");
  expect(page.url().includes("q=river+light"), "an address of the search");
  await page.keyboard.press("Escape");
  expect((await page.$eval("#query", (field) => field.value)) === "river light", "the query in its field");
  await page.keyboard.press("j");
  await page.keyboard.press("l");
  await page.keyboard.press("j");
  const place = await page.evaluate(() => {
    const hit = document.activeElement;
    const [section, list] = [hit.closest(".system"), hit.parentElement];
    return [[...section.parentElement.children].indexOf(section), [...list.children].indexOf(hit)];
  });
  expect(String(place) === "1,1", `the second hit of the second system, not ${place}`);
  await page.keyboard.press("e");
  await until(() => document.activeElement.querySelectorAll(".why table").length === 2);
  await page.keyboard.press("o");
  for (const hit of (await page.$$("#columns > :nth-child(6) .hit")).slice(0, 2)) {
    // The terms of the hit before may come at any time, and move the button away from a pointer.
    await hit.$eval(".act", (button) => button.click());
  }
  await until(() => document.querySelectorAll("#columns > :nth-child(6) .why table").length >= 3);
  const stages = await page.$$eval("#columns > :nth-child(6) .why:not([hidden]) table:first-child tbody th", (all) => all.map((cell) => cell.textContent));
  expect(stages.includes("postings") && stages.includes("fuse") && stages.includes("rerank"), `scores of each stage, not ${stages}`);
  // Without shortcuts a letter does nothing, and the choice is kept.
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.closest(".hit")?.dataset.id);
  const toggle = () => page.$eval("#shortcuts", (box) => { box.focus(); box.click(); });
  await toggle();
  await page.keyboard.press("j");
  expect((await focused()) === "shortcuts", "no shortcut after they are switched off");
  await page.reload();
  await page.waitForSelector("#systems input");
  expect(!(await page.$eval("#shortcuts", (box) => box.checked)), "shortcuts that stay off");
  // Hits that come now would move the box away from a pointer.
  await toggle();
  await until(() => document.querySelectorAll(".hit").length === 60);
  await page.keyboard.press("j");
  expect((await focused())?.startsWith("d"), `shortcuts that are switched on again, not ${await focused()}`);

  // What fails is counted, and an explanation that failed is asked again.
  const failing = async (act, route) => {
    await page.evaluate((route) => {
      const { fetch } = window;
      window.fetch = (address, options) => String(address).endsWith(route) ? Promise.resolve(new Response("{}", { status: 503 })) : fetch(address, options);
      window.mend = () => { window.fetch = fetch; };
    }, route);
    await act();
    await page.evaluate(() => window.mend());
  };
  const explain = () => page.$eval(".hit .act", (button) => button.click());
  await failing(async () => {
    await explain();
    await page.waitForSelector(".why .trouble");
  }, "v1/explain");
  await explain();
  await explain();
  await until(() => document.querySelectorAll(".hit .why:not([hidden]) table").length === 2);
  expect((await count(".why .trouble")) === 0, "an explanation at the second time");
  sum += await inspect(page, "server-search", view, wrong);
  await failing(async () => {
    await page.click("#ask [type=submit]");
    await until(() => document.querySelectorAll(".system .trouble").length === 6);
    expect((await text("#found")) === "6 systems failed.", `what failed, not ${await text("#found")}`);
  }, "v1/search");

  await page.click("[data-view=runs]");
  await page.waitForSelector("#listed tr");
  await page.click("#compare [value=report]");
  await page.waitForSelector("#shown:not([hidden])");
  // The frame's former page may have the same parts.
  const shown = async (title, sign) => {
    const source = await (await page.waitForSelector(`#frame[title="${title}"]`)).evaluate((frame) => frame.src);
    const frame = await page.waitForFrame((frame) => frame.url() === source, { timeout: 30_000 });
    await frame.waitForSelector(sign, { timeout: 30_000 });
    return frame;
  };
  expect((await page.$eval("#alone", (link) => link.href)).includes("/v1/runs/report?"), "a link to the report's own address");
  // The report's own script makes these buttons.
  const report = await shown("The report", "button.save");
  expect((await report.$$("svg")).length > 5, "figures");
  expect((await text("#compared")).includes("3 runs"), "a report of three runs");
  sum += await inspect(page, "server-report", view, wrong);

  // The content is reached without leaving the view, and the choice of the runs stays.
  await page.click("#listed tr:nth-child(2) [type=radio]");
  await page.click("[data-view=search]");
  await page.click("[data-view=runs]");
  await page.waitForSelector("#listed tr:nth-child(2) [type=radio]:checked");
  await page.focus(".skip");
  await page.keyboard.press("Enter");
  expect((await focused()) === "main" && page.url().endsWith("#runs"), `the content of the view, not ${page.url()}`);
  expect(await page.$eval("#runs", (view) => !view.hidden), "the runs after the skip link");

  await page.click("#listed tr:nth-child(3) [type=checkbox]");
  await page.click("#compare [value=diff]");
  const diff = await shown("The differences", "article .sides");
  expect((await diff.$$("article")).length > 3, "queries that differ");
  await page.$eval("#measures", (field) => { field.value = "poem"; });
  await page.click("#compare [value=report]");
  // Chromium reports the status itself.
  await until(() => document.querySelector("#compared").textContent.includes("poem"));
  const status = wrong.findIndex((line) => line.includes("422"));
  if (status >= 0) wrong.splice(status, 1);
  sum += await inspect(page, "server-runs", view, wrong);
  await page.close();
  return sum;
};

// Gives keys to a server that asks for one: an impossible, a wrong and the right one.
const checkKeys = async (browser, address, view) => {
  const wrong = [];
  const expect = (is, what) => { if (!is) wrong.push(`expected: ${what}`); };
  const page = await opened(browser, address, view, wrong);
  const trouble = () => page.$eval("#trouble", (line) => (line.hidden ? "" : line.textContent));
  const give = async (key) => {
    await page.$eval("#key", (field) => { field.value = ""; });
    await page.type("#key", key);
    await page.keyboard.press("Enter");
  };
  await page.waitForSelector("#access:not([hidden])");
  expect((await trouble()) === "", "no trouble before a key is given");
  expect((await page.evaluate(() => document.activeElement.id)) === "key", "the focus in the field of the key");
  await give("ключ");
  expect(!(await page.$eval("#key", (field) => field.validity.valid)), "a key of other letters to be refused");
  expect((await page.evaluate(() => sessionStorage.length)) === 0, "no such key to be kept");
  await give("wrong");
  await page.waitForSelector("#trouble:not([hidden])");
  expect((await trouble()).includes("wrong"), "a message about the key");
  const sum = await inspect(page, "server-key", view, wrong.filter((line) => !line.includes("401")));
  wrong.length = 0;
  await give("reader");
  await page.waitForSelector("#access", { hidden: true });
  expect((await trouble()) === "", "no trouble after the right key");
  await page.waitForSelector("#listed tr");
  await page.click("#compare [value=report]");
  await page.waitForSelector("#shown:not([hidden])");
  // A link cannot send the key.
  const tab = new Promise((opened) => { browser.once("targetcreated", (target) => opened(target.page())); });
  await page.click("#alone");
  const alone = await tab;
  await alone.waitForSelector("h1", { timeout: 30_000 });
  expect((await alone.$$("svg")).length > 5, "the report in a tab of its own");
  await alone.close();
  for (const line of wrong) console.log(`  ${line}`);
  await page.close();
  return sum + wrong.length;
};

(async () => {
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  let wrong = 0;
  for (const what of process.argv.slice(2)) {
    const check = what.startsWith("http:") ? checkServer : what.startsWith("keys:") ? checkKeys : checkFile;
    for (const view of VIEWS) wrong += await check(browser, what.replace(/^keys:/, ""), view);
  }
  await browser.close();
  process.exitCode = wrong ? 1 : 0;
})();
