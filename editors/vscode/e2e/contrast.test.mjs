/**
 * Accessibility test of the rendered view with axe, mainly for colour contrast, and a check of what has its place.
 *
 * Checks every scene in VS Code's light, dark and high-contrast themes, at a normal and a narrow width.
 * Environment: CHROMIUM, LOOKS (a pattern of themes and widths) and SCENES (a pattern of
 * scenes); default all.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { drawScene, loadScenes } from "../scripts/scenes.mjs";
import { THEMES } from "../scripts/themes.mjs";

const { CHROMIUM: executablePath = "/usr/bin/chromium", LOOKS: pattern = "", SCENES: chosen = "" } = process.env;
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const WIDTHS = [400, 300, 800, 240];

let browser;
let view;
let axe;

before(async () => {
  [browser, view, axe] = await Promise.all([
    chromium.launch({ executablePath, args: ["--no-sandbox"], ignoreDefaultArgs: ["--hide-scrollbars"] }),
    loadScenes(),
    readFile(AXE, "utf8"),
  ]);
});

after(() => browser?.close());

for (const [theme, look] of Object.entries(THEMES)) {
  for (const width of WIDTHS) {
    if (!new RegExp(pattern).test(`${theme} ${width}`)) continue;
    test(`every scene can be read in the theme ${theme}, ${width} pixels wide`, async () => {
      const page = await browser.newPage({ viewport: { width, height: 760 } });
      const found = [];
      for (const [name, scene] of Object.entries(view.scenes)) {
        if (!new RegExp(chosen).test(name)) continue;
        await drawScene(page, view, look, scene);
        for (const fault of await page.evaluate(misplaced, scene.scroll !== undefined)) found.push(`${name}: ${fault}`);
        for (const fault of await page.evaluate(untidy)) found.push(`${name}: ${fault}`);
        for (const fault of await page.evaluate(crowded)) found.push(`${name}: ${fault}`);
        for (const fault of await moved(page)) found.push(`${name}: ${fault}`);
        await page.evaluate(axe);
        for (const violation of await page.evaluate(violations)) found.push(`${name}: ${violation}`);
      }
      await page.close();
      assert.deepEqual(found, []);
    });
  }
}

/**
 * Runs in the page: return one line for everything in the dock and the conversation that is wider or narrower than
 * the input, for a title of more than two lines, for a proposed diff that is cut off, for what covers the conversation, and one if the end of the
 * conversation is out of view though nobody has scrolled.
 */
function misplaced(hasScrolled) {
  const MAX_HEAD_PIXELS = 56;
  const rightOf = (node) => node.getBoundingClientRect().right;
  const composer = document.querySelector(".composer");
  if (composer === null) return [];
  const aligned = document.querySelectorAll(".dock > *, .queue > li, .call:not(.nested)");
  const faults = [...aligned].filter((node) => Math.abs(rightOf(node) - rightOf(composer)) > 1 && node.getClientRects().length > 0);
  const [end, transcript] = [".to-end", ".transcript"].map((name) => document.querySelector(name)?.getBoundingClientRect());
  if (end !== undefined && transcript !== undefined && end.top < transcript.bottom) return ["the way to the end covers the conversation"];
  const cut = [...document.querySelectorAll(".question-body > .diff")].filter((node) => node.scrollHeight > node.clientHeight + 1);
  if (cut.length > 0) return [`${cut.length} of the proposed diffs are cut off, where nothing scrolls`];
  const covered = [...document.querySelectorAll(".user-message")].filter((node) => {
    const text = document.createRange();
    text.selectNodeContents(node.querySelector(".message-text") ?? node);
    return text.getBoundingClientRect().top < node.querySelector(".prompt-actions").getBoundingClientRect().bottom;
  });
  if (covered.length > 0) return ["the actions of a prompt cover it"];
  const grey = [...document.querySelectorAll(".vscode-high-contrast .field input:is([type=checkbox], [type=radio])")].filter((node) => {
    const { appearance, borderColor } = getComputedStyle(node);
    return appearance !== "none" || borderColor !== getComputedStyle(document.body).color;
  });
  if (grey.length > 0) return ["the choices of a form look as if they were disabled"];
  const tall = [...document.querySelectorAll(".call-head")].filter((head) => head.getBoundingClientRect().height > MAX_HEAD_PIXELS);
  if (tall.length > 0) return [`the title of a card has more than two lines: ${tall[0].textContent}`];
  const lines = faults.map((node) => `the right edge of ${node.className || node.tagName} is at ${rightOf(node)}, not ${rightOf(composer)}`);
  return end === undefined || hasScrolled ? lines : [...lines, "the end of the conversation is out of view"];
}

/**
 * Runs in the page: return one line for a picker without its chevron, out of reach, or with a name that is cut though there is room, an
 * opened plan that does not show the current step, a scroll bar beside the head of a panel, a box around a changed line,
 * an empty strip below the last change, a list that is cut though nothing says so, counts that are cut, changed words without a mark, and an icon that is not on the middle of the capital letters beside it.
 */
function untidy() {
  const MOST_PIXELS_OFF = 0.75;
  const MAX_STRIP_PIXELS = 10;
  const boxOf = (node) => node.getBoundingClientRect();
  const faults = [];
  const isSqueezed = innerWidth <= 260 && document.querySelector(".question-dock") !== null;
  for (const picker of document.querySelectorAll(".pickers > .picker")) {
    if (boxOf(picker).right > boxOf(picker.closest(".composer-bar")).right) faults.push(`${picker.title} is out of reach`);
    const [value, icon] = [".picker-value", ".icon"].map((selector) => picker.querySelector(selector));
    if (boxOf(icon).width === 0 || boxOf(icon).right > boxOf(picker).right) faults.push(`${picker.title} has no chevron`);
    const isCut = value.scrollWidth > value.clientWidth + 1;
    if (isCut && boxOf(picker).width < boxOf(picker.closest(".composer-bar")).width - 40) faults.push(`${picker.title} is cut`);
  }
  for (const toggle of document.querySelectorAll(".pickers > .toggle")) {
    if (boxOf(toggle).right > boxOf(toggle.closest(".composer-bar")).right) faults.push(`${toggle.title} is cut`);
  }
  for (const list of document.querySelectorAll(".dock .plan-entries")) {
    const { top, bottom } = boxOf(list.querySelector("li:not(.completed)") ?? list.lastElementChild);
    if (list.clientHeight > bottom - top && (top < boxOf(list).top - 1 || top > boxOf(list).bottom)) faults.push("the opened plan does not show the current step");
  }
  for (const list of document.querySelectorAll(".dock :is(.plan-entries, .changed-files)")) {
    const isCut = list.clientHeight > 50 && list.scrollTop + list.clientHeight + 2 < list.scrollHeight;
    if (isCut !== (list.parentElement.querySelector(".more-below") !== null)) faults.push(`a row ${isCut ? "does not say" : "says without cause"} that ${list.className} goes on`);
  }
  for (const counts of document.querySelectorAll(".changes-head .removed-count")) {
    if (!isSqueezed && boxOf(counts).right > boxOf(counts.closest(".changes")).right) faults.push("the counts of the changes are cut");
  }
  const unmarked = [...document.querySelectorAll(".vscode-high-contrast .changed-word")].filter((word) => parseFloat(getComputedStyle(word).borderBottomWidth) === 0);
  if (unmarked.length > 0) faults.push(`${unmarked.length} changed words are not marked`);
  for (const panel of document.querySelectorAll(".panel")) {
    if (getComputedStyle(panel).overflowY !== "visible") faults.push("the scroll bar of a panel begins beside its head");
  }
  const unseen = [...document.querySelectorAll(".diff-line")].filter((line) => boxOf(line).right > boxOf(line.closest(".diff, .hunk")).right + 1);
  if (unseen.length > 0) faults.push(`${unseen.length} lines of changes reach beyond their right edge`);
  const boxed = [...document.querySelectorAll(".diff-line")].filter((line) => getComputedStyle(line).outlineStyle !== "none");
  if (boxed.length > 0) faults.push(`${boxed.length} changed lines have a box each`);
  for (const card of document.querySelectorAll(".changes:has(> ul)")) {
    const strip = boxOf(card).bottom - Math.max(...[...card.querySelectorAll(".file-row, .hunk")].map((node) => boxOf(node).bottom));
    if (strip > MAX_STRIP_PIXELS) faults.push(`${strip} pixels below the changes are empty`);
  }
  const pen = document.createElement("canvas").getContext("2d");
  const rows = ".header, .panel-head, .session, .plan > .fold, .changes-head, .file-row, .hunk-head, .diff-head, .picker, .to-end, .thought > .fold, .call-head";
  for (const row of document.querySelectorAll(rows)) {
    const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    const linesOf = (text) => {
      range.selectNodeContents(text);
      return range.getClientRects();
    };
    const isShown = (text) => text.parentElement.closest("select, kbd, .small, .decision, .secondary") === null && linesOf(text)[0]?.width > 1;
    const text = [...iterate(texts)].find(isShown);
    if (text === undefined) continue;
    const [line] = linesOf(text);
    const { fontWeight, fontSize, fontFamily } = getComputedStyle(text.parentElement);
    pen.font = `${fontWeight} ${fontSize} ${fontFamily}`;
    const { fontBoundingBoxAscent, actualBoundingBoxAscent } = pen.measureText("H");
    const middle = line.top + fontBoundingBoxAscent - actualBoundingBoxAscent / 2;
    for (const icon of row.querySelectorAll(".icon:not(.secondary .icon)")) {
      const { top, bottom, height } = boxOf(icon);
      if (icon.closest(".call-end") !== null && top >= line.bottom) continue; // in the row below a long name
      const off = (top + bottom) / 2 - middle;
      if (height > 0 && Math.abs(off) > MOST_PIXELS_OFF) faults.push(`an icon of ${row.className} is ${off} pixels below its text "${text.data}"`);
    }
  }
  return faults;

  function* iterate(walker) {
    while (walker.nextNode() !== null) yield walker.currentNode;
  }
}

/**
 * Runs in the page: return one line for a command whose words are broken, and for everything that takes the place of an
 * open question: a menu over what is asked, an opened panel beside a question that is cut, answers or the reason out of
 * view, a cut that nothing signals, lines that are cut at the right, and a second main button.
 */
function crowded() {
  const FEW_LINES_PIXELS = 40;
  const box = (selector) => document.querySelector(selector)?.getBoundingClientRect();
  const faults = [];
  for (const pre of document.querySelectorAll(".command, .command-line pre, .question-body pre")) {
    const lines = (from, to) => {
      const range = document.createRange();
      range.setStart(...from);
      range.setEnd(...to);
      return [...range.getClientRects()].filter(({ width }) => width > 0);
    };
    const letters = [];
    const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
    while (texts.nextNode() !== null) [...texts.currentNode.data].forEach((_, at) => letters.push([texts.currentNode, at]));
    for (const { 0: word, index } of letters.map(([{ data }, at]) => data[at]).join("").matchAll(/\S+/g)) {
      const [last, at] = letters[index + word.length - 1];
      const rects = lines(letters[index], [last, at + 1]);
      const isBroken = new Set(rects.map(({ bottom }) => Math.round(bottom))).size > 1;
      const { paddingLeft, paddingRight } = getComputedStyle(pre);
      const room = pre.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
      if (isBroken && rects.reduce((sum, { width }) => sum + width, 0) < room) faults.push(`the word ${word} of a command is broken`);
    }
  }
  if (document.querySelector(".question-dock") === null) return faults;
  const asked = document.querySelector(".question-body");
  const [body, menu, answers, composer] = [".question-body", ".menu-items", ".permission", ".composer"].map(box);
  const isCovered = (place) => menu !== undefined && menu.top < place.bottom && menu.bottom > place.top;
  if (isCovered(body)) faults.push("the menu covers what is asked");
  if (isCovered(answers)) faults.push("the menu covers the answers, and the pointer with them");
  if (menu !== undefined && menu.bottom > innerHeight) faults.push("the menu is cut off");
  if (asked !== null && asked.clientHeight < Math.min(asked.scrollHeight, FEW_LINES_PIXELS)) faults.push("what is asked has no space left");
  const tops = new Set([...document.querySelectorAll(".permission > button, .permission > :is(.split, .menu) > button")].map((node) => Math.round(node.getBoundingClientRect().top)));
  if (tops.size > 1) faults.push("the answers are in several rows");
  if (answers !== undefined && answers.bottom > composer.top) faults.push("the answers are covered");
  if (composer.bottom > innerHeight) faults.push("the input is out of view");
  const isCut = asked !== null && asked.clientHeight + 2 < asked.scrollHeight;
  for (const list of document.querySelectorAll(".dock :is(.plan-entries, .changed-files)")) {
    if (list.clientHeight > FEW_LINES_PIXELS / 2 && isCut) faults.push("an opened panel takes the space of the question");
  }
  const isAtEnd = asked !== null && asked.scrollTop + asked.clientHeight + 2 >= asked.scrollHeight;
  if (isCut && !isAtEnd && box(".question-rest") === undefined) faults.push("nothing says that the question is cut");
  const reason = box(".question-reason");
  if (reason !== undefined && (reason.bottom > answers.top + 1 || reason.top < body.bottom - 1)) faults.push("the reason is covered");
  for (const line of asked?.querySelectorAll(".diff-line") ?? []) {
    if (line.scrollWidth > line.clientWidth + 1) faults.push(`a line of a proposed change is cut: ${line.textContent}`);
  }
  const main = [...document.querySelectorAll(".primary")].map((button) => button.textContent);
  if (main.length > 1) faults.push(`several main buttons: ${main.join(", ")}`);
  return faults;
}

/** Close the menu of further answers, open it again, and return one line if that has moved its button, or hidden more of what is asked. */
async function moved(page) {
  const button = page.getByTestId("permission-more");
  if ((await page.getByRole("menu").count()) === 0) return [];
  const look = () => page.evaluate(() => [".permission", ".question-body"].map((selector) => JSON.stringify(document.querySelector(selector).getBoundingClientRect())));
  const open = await look();
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  const closed = await look();
  await button.click();
  return open.every((place, index) => place === closed[index]) ? [] : [`the opened menu moves what was there: ${closed} to ${open}`];
}

/** Runs in the page: return one line per violation. */
async function violations() {
  const only = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] };
  // The view is part of VS Code's window, which has the landmarks and headings.
  const rules = { "landmark-one-main": { enabled: false }, region: { enabled: false }, "page-has-heading-one": { enabled: false } };
  const { violations: all } = await window.axe.run(document, { runOnly: only, rules });
  return all.flatMap(({ id, nodes }) =>
    nodes.map((node) => {
      const [{ data } = {}] = node.any;
      const why = data?.contrastRatio === undefined ? "" : ` ${data.contrastRatio} (${data.fgColor} on ${data.bgColor})`;
      return `${id}${why} ${node.target.join(" ")}`;
    }),
  );
}
