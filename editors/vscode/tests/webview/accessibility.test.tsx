import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "axe-core";
import type { ViewEvent } from "../../src/shared/events.js";
import { dom, Page } from "../support/page.js";
import { FORM, OPENED, QUEUED, READY, TOLD, WHOLE } from "../support/story.js";

// Axe looks at its own window: the page's, with jsdom's limits (no layout, so no colours).
(dom.window as unknown as { eval(code: string): void }).eval(axe.source);
const { axe: inPage } = dom.window as unknown as { axe: typeof axe };

async function faults(page: Page): Promise<string[]> {
  const found = await inPage.run(page.root.ownerDocument, {
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

const failed: ViewEvent = { ...READY, status: "failed", message: "why" };

for (const [name, events, presses] of [
  ["the welcome", OPENED, []],
  ["signing in", [READY, { type: "signIn", isNeeded: true, message: "no key" }], []],
  ["a server that cannot be started", [failed], []],
  ["a conversation with all there is", WHOLE, ["plan-toggle", "changes-toggle", "changed-file-toggle"]],
  ["a form", [...OPENED, ...TOLD, FORM, QUEUED], []],
  ["the list of sessions", WHOLE, ["header-sessions"]],
  ["the context", WHOLE, ["header-context"]],
] as const satisfies readonly (readonly [string, readonly ViewEvent[], readonly string[]])[]) {
  test(`${name} passes axe`, async () => {
    const page = await new Page().tell(...events);
    for (const testId of presses) await page.press(testId);
    assert.deepEqual(await faults(page), []);
  });
}

test("the list of completions passes axe", async () => {
  const page = await new Page().tell(...OPENED);
  await page.write(page.find("composer-input"), "/co");
  assert.equal(page.findAll("completion").length, 2);
  assert.deepEqual(await faults(page), []);
});
