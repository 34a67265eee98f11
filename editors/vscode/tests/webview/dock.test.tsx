/** What the dock shows of plan, changes and an open question. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ViewEvent } from "../../src/shared/events.js";
import { hunksBetween } from "../../src/shared/hunks.js";
import { act, TestPage } from "../support/page.js";
import { CONVERSATION, PERMISSION_REQUEST, READY, SESSION_OPENED } from "../support/conversation.js";

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

test("to keep all changes is the primary answer, unless the agent works, or asks, which has its own", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  const primary = (): (string | undefined)[] => [...page.root.querySelectorAll<HTMLElement>(".primary")].map(({ dataset }) => dataset["testid"]);
  assert.deepEqual(primary(), []);
  await page.dispatch({ type: "ended", reason: "end_turn", error: "" });
  assert.deepEqual(primary(), ["keep-all"]);
  assert.deepEqual(["keep-all", "revert-all"].map((name) => page.find(name).textContent), ["Keep All", "Revert All"]);
  await page.dispatch(...PERMISSION_REQUEST);
  assert.deepEqual(primary(), ["permission-allow_once"]);
});

for (const [command, title] of [
  ["set -e\nfor name in api worker; do\n  docker build $name\ndone", "for name in api worker; do\n  docker build $name\ndone"],
  ["#!/bin/sh\nset -eu\n\nmake\nmake test\nmake dist\nmake tag", "make\nmake test\nmake dist"],
  ["set -e", "set -e"],
  ["settle -a\nmake", "settle -a\nmake"],
] as const) {
  test(`the title of a closed card begins where the script does something: ${JSON.stringify(command)}`, async () => {
    const update = { sessionUpdate: "tool_call" as const, toolCallId: "c", title: "`set -e …`", kind: "execute" as const, status: "completed" as const, rawInput: { command } };
    const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "update", update });
    assert.equal(page.root.querySelector(".command-title")?.textContent, title);
  });
}

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

test("a row says how many entries of an opened panel are out of view, and scrolls to them", async (context) => {
  // Entries of 30 pixels in a list of 100, whose last 24 the row covers; jsdom has no layout.
  const isList = (node: Element): boolean => node.matches(".changed-files, .plan-entries");
  const { prototype } = window.HTMLElement;
  context.mock.method(prototype, "getBoundingClientRect", function (this: HTMLElement) {
    if (this.matches(".diff-line")) return { top: 50 + 20 * [...(this.parentElement?.children ?? [])].indexOf(this) };
    const list = this.parentElement;
    if (list === null || !isList(list)) return { top: 0, bottom: 100 };
    const top = 30 * [...list.children].indexOf(this) - list.scrollTop;
    return { top, bottom: top + 30 };
  });
  const sizes: Readonly<Record<string, (node: Element) => number>> = { clientHeight: () => 100, scrollHeight: (node) => (node.children.length === 1 ? 200 : 30 * node.children.length) };
  for (const [name, size] of Object.entries(sizes)) Object.defineProperty(prototype, name, { configurable: true, get(this: Element) { return isList(this) ? size(this) : 0; } });
  context.after(() => { for (const name of Object.keys(sizes)) Reflect.deleteProperty(prototype, name); });
  const changed = (count: number): ViewEvent => ({
    type: "changes",
    files: Array.from({ length: count }, (_, index) => ({ path: `/project/${String(index)}.py`, label: "", kind: "changed", added: 1, removed: 0, hunks: [] })),
  });
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, changed(5));
  const row = (): string => page.findAll("more-below").map(({ textContent }) => textContent.trim()).join();
  await page.press("changes-toggle");
  assert.equal(row(), "3 more files");
  await page.dispatch(changed(4));
  assert.equal(row(), "2 more files");
  const list = page.root.querySelector<HTMLElement>(".changed-files");
  assert.ok(list !== null);
  const scroll = (): Promise<void> => act(() => { list.dispatchEvent(new window.Event("scroll")); });
  await page.press("more-below");
  assert.equal(list.scrollTop, 52);
  list.scrollTop = 10;
  await scroll();
  assert.equal(row(), "1 more file");
  list.scrollTop = 20;
  await scroll();
  assert.equal(row(), "");
  await page.dispatch(changed(1));
  assert.equal(row(), "More", "the rest of an opened one is out of view");
  // Its lines are counted, at 50, 70 and 90 pixels.
  await page.dispatch({ type: "changes", files: [{ path: "/project/0.py", label: "", kind: "changed", added: 3, removed: 0, hunks: hunksBetween("", "a\nb\nc\n") }] });
  await page.press("changed-file-toggle");
  await scroll();
  assert.equal(row(), "2 more lines");
});

test("while the agent restarts, nothing can be stopped and the input says so; it also says that one must sign in", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  const placeholder = (): string => (page.find("composer-input") as HTMLTextAreaElement).placeholder;
  const shown = (): boolean[] => ["stop", "working", "send"].map((name) => page.findAll(name).length > 0);
  assert.deepEqual([placeholder(), shown()], ["Message the agent while it works", [true, true, false]]);
  await page.dispatch({ ...READY, status: "restarting", message: "The agent stopped." });
  assert.deepEqual([placeholder(), shown()], ["You can send once the agent is back", [false, false, true]]);
  await page.key(page.find("composer-input"), "Escape");
  assert.deepEqual(page.posted, []);
  await page.dispatch(READY, { type: "signIn", isNeeded: true, message: "" });
  assert.equal(placeholder(), "Sign in to send messages");
});

test("the rest of a wrapped line of a diff is indented as its beginning", async () => {
  const texts = ["none", "    four", `${" ".repeat(30)}thirty`, ""];
  const content = [{ type: "diff" as const, path: "/project/a", oldText: null, newText: texts.map((text) => `${text}\n`).join("") }];
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "update", update: { sessionUpdate: "tool_call", toolCallId: "d", title: "Edit", kind: "edit", status: "completed", content } });
  const indents = [...page.root.querySelectorAll<HTMLElement>(".diff-line .code")].map(({ style }) => style.getPropertyValue("--indent"));
  assert.deepEqual(indents, ["", "4ch", "12ch", ""]);
});

test("an empty new file has no empty lines, and only lines of the new text have numbers", async () => {
  const call = (newText: string, oldText: string | null): ViewEvent => ({
    type: "update",
    update: { sessionUpdate: "tool_call", toolCallId: newText, title: "Edit", kind: "edit", status: "completed", content: [{ type: "diff", path: "/project/a", oldText, newText }] },
  });
  const page = await new TestPage().dispatch(...SESSION_OPENED, call("", null));
  assert.equal(page.find("diff").querySelectorAll(".diff-lines").length, 0);
  await page.dispatch(call("one\n2\n", "one\ntwo\n"));
  const numbers = [...page.root.querySelectorAll(".diff-line .number")].map(({ textContent }) => textContent);
  assert.deepEqual(numbers, ["1", "", "2"]);
});
