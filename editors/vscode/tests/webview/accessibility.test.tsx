import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "axe-core";
import type { ViewEvent } from "../../src/shared/events.js";
import { dom, TestPage } from "../support/page.js";
import { FORM_REQUEST, SESSION_OPENED, QUEUED_PROMPT, READY, FULL_CONVERSATION } from "../support/conversation.js";

// axe must run in the page's own window. jsdom has no layout, so colours cannot be checked.
(dom.window as unknown as { eval(code: string): void }).eval(axe.source);
const { axe: axeInPage } = dom.window as unknown as { axe: typeof axe };

/** Return what axe finds on the whole page, or in the part with this test id. */
async function violationsOf(page: TestPage, part?: string): Promise<string[]> {
  const found = await axeInPage.run(part === undefined ? page.root.ownerDocument : page.find(part), {
    resultTypes: ["violations"],
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

const failed: ViewEvent = { ...READY, status: "failed", message: "why" };

for (const [name, events, presses, part] of [
  ["the welcome", SESSION_OPENED, []],
  ["signing in", [READY, { type: "signIn", isNeeded: true, message: "no key" }], []],
  ["a server that cannot be started", [failed], []],
  ["a conversation with all there is", FULL_CONVERSATION, ["plan-toggle", "changes-toggle", "changed-file-toggle"]],
  ["a form", [...SESSION_OPENED, FORM_REQUEST, QUEUED_PROMPT], []],
  ["the list of sessions", FULL_CONVERSATION, ["header-sessions"], "session-list"],
  ["the context", FULL_CONVERSATION, ["header-context"], "context-panel"],
] as const satisfies readonly (readonly [string, readonly ViewEvent[], readonly string[], string?])[]) {
  test(`${name} passes axe`, async () => {
    const page = await new TestPage().dispatch(...events);
    for (const testId of presses) await page.press(testId);
    assert.deepEqual(await violationsOf(page, part), []);
  });
}

test("the list of completions passes axe", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  await page.write(page.find("composer-input"), "/co");
  assert.equal(page.findAll("completion").length, 2);
  assert.deepEqual(await violationsOf(page), []);
});

test("the text box of the composer has a name that stays when its placeholder is gone", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  assert.match(page.find("composer-input").getAttribute("aria-label") ?? "", /agent/);
});
