/** What the dock shows of plan, changes and an open question. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestPage } from "../support/page.js";
import { CONVERSATION, PERMISSION_REQUEST, SESSION_OPENED } from "../support/conversation.js";

test("while a question is open, plan and changes are folded until they are opened for it", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  await page.press("plan-toggle");
  await page.press("changes-toggle");
  const shown = (): boolean[] => ["plan-entry", "changed-file"].map((name) => page.findAll(name).length > 0);
  assert.deepEqual(shown(), [true, true]);
  await page.dispatch(...PERMISSION_REQUEST);
  assert.deepEqual(shown(), [false, false]);
  await page.press("changes-toggle");
  assert.deepEqual(shown(), [false, true]);
  await page.press("changes-toggle");
  await page.dispatch({ type: "answered", questionId: "q1", outcome: { outcome: "cancelled" } });
  assert.deepEqual(shown(), [true, true]);
});

test("the conversation does not repeat that a docked question waits", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  assert.equal(page.find("working").textContent, "Working…");
  await page.dispatch(...PERMISSION_REQUEST);
  assert.equal(page.findAll("working").length, 0);
  assert.match(page.find("announcer").textContent, /asks for permission/);
});

test("to keep all changes is the primary answer, to revert them is not", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  assert.deepEqual(["keep-all", "revert-all"].map((name) => page.find(name).className), ["primary", "secondary"]);
});
