/** What the dock shows of plan, changes and an open question. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ViewEvent } from "../../src/shared/events.js";
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

test("to keep all changes is the primary answer, unless a question is open, which has its own", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  const primary = (): (string | undefined)[] => [...page.root.querySelectorAll<HTMLElement>(".primary")].map(({ dataset }) => dataset["testid"]);
  assert.deepEqual(primary(), ["keep-all"]);
  assert.deepEqual(["keep-all", "revert-all"].map((name) => page.find(name).textContent), ["Keep All", "Revert All"]);
  await page.dispatch(...PERMISSION_REQUEST);
  assert.deepEqual(primary(), ["permission-allow_once"]);
});

test("no line of a command can break after a hyphen, and its text is unchanged", async () => {
  const text = "uv tool install hermes-acp-server --force -q - a--";
  const page = await new TestPage().dispatch(...SESSION_OPENED, {
    type: "update",
    update: { sessionUpdate: "tool_call", toolCallId: "c9", title: "run", kind: "execute", status: "pending", rawInput: { command: text } },
  });
  const title = page.find("tool-call").querySelector(".command-title");
  assert.ok(title !== null);
  assert.equal(title.textContent, text);
  assert.deepEqual([...title.querySelectorAll(".unbroken")].map((part) => part.textContent), ["-a", "-s", "--f", "-q"]);
});

test("an opened plan is scrolled to the current step, also when that is done", async () => {
  const offsetTop = Object.getOwnPropertyDescriptor(window.HTMLElement.prototype, "offsetTop") ?? {};
  Object.defineProperty(window.HTMLElement.prototype, "offsetTop", {
    configurable: true,
    get(this: HTMLElement) { return this.tagName === "LI" ? 100 + 20 * [...(this.parentElement?.children ?? [])].indexOf(this) : 100; },
  });
  const steps = (...states: ("completed" | "in_progress" | "pending")[]): ViewEvent => ({
    type: "update",
    update: { sessionUpdate: "plan", entries: states.map((status, index) => ({ content: `Step ${String(index)}`, priority: "medium", status })) },
  });
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, steps("completed", "completed", "in_progress", "pending"));
  await page.press("plan-toggle");
  assert.equal(page.root.querySelector(".plan-entries")?.scrollTop, 40);
  await page.dispatch(steps("completed", "completed", "completed", "in_progress"));
  assert.equal(page.root.querySelector(".plan-entries")?.scrollTop, 60);
  Object.defineProperty(window.HTMLElement.prototype, "offsetTop", offsetTop);
});
