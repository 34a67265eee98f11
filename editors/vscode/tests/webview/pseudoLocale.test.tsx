/** The view in a language in which every translated text is marked: what users read and is not marked would stay English. */
import "../support/pseudoLocale.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConnectionStatus, ViewEvent } from "../../src/shared/events.js";
import { FORM_REQUEST, SESSION_OPENED, QUEUED_PROMPT, READY, CONVERSATION, FULL_CONVERSATION } from "../support/conversation.js";
import { dom, TestPage } from "../support/page.js";

const ATTRIBUTES = ["title", "aria-label", "placeholder", "alt"];
const MARKED = /⟦[^⟦⟧]*(?:⟦[^⟦⟧]*⟧[^⟦⟧]*)*⟧/g;
const NAMES = ["Hermes Agent"];

/** Return the words that a page shows and neither the translation nor the conversation has. */
function untranslated(page: TestPage, events: readonly ViewEvent[]): string[] {
  const data = JSON.stringify(events);
  const texts: string[] = [];
  const walker = page.root.ownerDocument.createTreeWalker(page.root, dom.window.NodeFilter.SHOW_TEXT);
  while (walker.nextNode() !== null) {
    const { parentElement, textContent } = walker.currentNode;
    if (parentElement?.closest("pre") === null) texts.push(textContent ?? ""); // not commands, code or messages of programs
  }
  for (const element of page.root.querySelectorAll("*")) texts.push(...ATTRIBUTES.map((name) => element.getAttribute(name) ?? ""));
  return [...new Set(texts.map((text) => text.replaceAll(MARKED, "").trim()))]
    .filter((text) => /[a-z]{3}/i.test(text) && !NAMES.includes(text))
    // An array of texts is cut at the line breaks and marks of Markdown.
    .filter((text) => !text.split(/[^\w.'’-]+/).every((word) => data.includes(word)));
}

const inStatus = (status: ConnectionStatus): readonly ViewEvent[] => [{ ...READY, status, message: "why" }];

for (const [name, events, presses] of [
  ["the welcome", SESSION_OPENED, []],
  ["signing in", [READY, { type: "signIn", isNeeded: true, message: "" }], []],
  ["a workspace without trust", inStatus("untrusted"), []],
  ["a window without a folder", inStatus("noFolder"), []],
  ["a missing server", inStatus("missing"), []],
  ["a server that cannot be started", inStatus("failed"), []],
  ["a conversation", FULL_CONVERSATION, ["plan-toggle", "changes-toggle", "changed-file-toggle"]],
  ["a form", [...SESSION_OPENED, ...CONVERSATION, FORM_REQUEST, QUEUED_PROMPT], []],
  ["the list of sessions", FULL_CONVERSATION, ["header-sessions"]],
  ["the context", FULL_CONVERSATION, ["header-context"]],
] as const satisfies readonly (readonly [string, readonly ViewEvent[], readonly string[]])[]) {
  test(`${name} is translated completely`, async () => {
    const page = await new TestPage().dispatch(...events);
    for (const testId of presses) await page.press(testId);
    assert.match(`${page.root.textContent}${page.root.querySelector("[placeholder]")?.getAttribute("placeholder") ?? ""}`, /⟦/);
    assert.deepEqual(untranslated(page, events), []);
    page.close();
  });
}
