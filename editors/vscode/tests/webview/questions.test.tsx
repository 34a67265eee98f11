/** Several waiting questions, which can be looked at in any order, and their headings. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import type { ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { RejectedPart, ViewEvent } from "../../src/shared/events.js";
import { KEY_GUARD_MILLISECONDS } from "../../src/webview/focus.js";
import { FORM_REQUEST, SESSION_OPENED } from "../support/conversation.js";
import { ALLOWED_PART, OPTIONS, PARALLEL_QUESTIONS } from "../support/longConversation.js";
import { act, TestPage } from "../support/page.js";

beforeEach(() => {
  mock.timers.enable({ apis: ["Date"], now: 1000 });
});

afterEach(() => {
  for (const name of ["clientHeight", "scrollHeight"]) Reflect.deleteProperty(window.HTMLElement.prototype, name);
  mock.timers.reset();
});

async function open(...events: readonly ViewEvent[]): Promise<TestPage> {
  const page = await new TestPage().dispatch(...events);
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  return page;
}

const answered = (questionId: string): ViewEvent => ({ type: "answered", questionId, outcome: { outcome: "cancelled" } });
const shown = (page: TestPage): string | undefined => page.find("permission").dataset["questionId"];
const place = (page: TestPage): string => page.findAll("questions-waiting").map(({ textContent }) => textContent).join();
const answers = (page: TestPage): unknown[] => page.posted.flatMap((intent) => (intent.type === "permit" ? [[intent.questionId, intent.optionId]] : []));

/** Give the bodies of questions a place of 100 pixels, and contents of this height. */
function setHeights(heightOf: (questionId: string | undefined) => number): void {
  const isBody = (node: HTMLElement): boolean => node.classList.contains("question-body");
  const questionOf = (node: HTMLElement): string | undefined => node.closest(".question-dock")?.querySelector<HTMLElement>("[data-question-id]")?.dataset["questionId"];
  const define = (name: string, get: (node: HTMLElement) => number): void => {
    Object.defineProperty(window.HTMLElement.prototype, name, { configurable: true, get(this: HTMLElement) { return isBody(this) ? get(this) : 0; } });
  };
  define("clientHeight", () => 100);
  define("scrollHeight", (node) => heightOf(questionOf(node)));
}

test("every waiting question can be looked at, and each answered for itself, in any order", async () => {
  const page = await open(...PARALLEL_QUESTIONS);
  assert.deepEqual([shown(page), place(page)], ["q1", "1 of 3"]);
  await page.press("question-next");
  assert.match(page.find("question-body").textContent, /docker compose up -d/);
  assert.equal(page.find("question-dock").querySelector("[role=status]")?.textContent, "Question 2 of 3: `set -e …`");
  await page.press("question-next");
  assert.deepEqual([shown(page), place(page)], ["q3", "3 of 3"]);
  await page.press("permission-reject_once");
  await page.dispatch(answered("q3"));
  assert.deepEqual([shown(page), place(page)], ["q2", "2 of 2"]);
  await page.press("question-previous");
  await page.press("question-previous");
  assert.deepEqual([shown(page), place(page)], ["q2", "2 of 2"]);
  await page.dispatch(answered("q1"));
  assert.deepEqual([shown(page), place(page)], ["q2", ""]);
  assert.deepEqual(answers(page), [["q3", "reject_once"]]);
  page.close();
});

test("the question that is looked at stays, whatever is asked, answered or withdrawn beside it", async () => {
  const page = await open(...PARALLEL_QUESTIONS);
  await page.press("question-next");
  await page.dispatch(answered("q1"));
  assert.deepEqual([shown(page), place(page)], ["q2", "1 of 2"]);
  await page.dispatch({ type: "permission", questionId: "q4", call: { toolCallId: "q4", title: "Fourth", kind: "other" }, options: [...OPTIONS] });
  assert.deepEqual([shown(page), place(page)], ["q2", "1 of 3"]);
  // The one behind it takes its place, and keeps it.
  await page.dispatch(answered("q2"));
  assert.deepEqual([shown(page), place(page)], ["q3", "1 of 2"]);
  await page.dispatch(answered("q4"), answered("q3"));
  assert.equal(page.findAll("question-dock").length, 0);
  page.close();
});

test("the arrow keys go through the questions to their safe answers, the buttons keep the focus, and text fields their keys", async () => {
  const page = await open(...PARALLEL_QUESTIONS, { ...structuredClone(FORM_REQUEST), questionId: "form" } as ViewEvent);
  const key = async (name: string): Promise<void> => {
    await page.key(document.activeElement ?? document.body, name);
    await act(() => new Promise((resolve) => { requestAnimationFrame(() => { resolve(); }); }));
  };
  const focused = (): string | undefined => (document.activeElement as HTMLElement | null)?.dataset["testid"];
  assert.equal(focused(), "permission-reject_once");
  await key("ArrowRight");
  assert.deepEqual([shown(page), focused()], ["q2", "permission-reject_once"]);
  await key("ArrowLeft");
  await key("ArrowLeft");
  assert.equal(place(page), "4 of 4");
  assert.equal(focused(), "question-next", "a form has no safe answer");
  await key("ArrowRight");
  assert.deepEqual([shown(page), focused()], ["q1", "question-next"]);
  await key("ArrowLeft");
  const field = page.find("elicitation").querySelector<HTMLElement>("input[type=text], input:not([type])");
  field?.focus();
  await key("ArrowRight");
  assert.equal(place(page), "4 of 4");
  page.close();
});

test("what was written into a form is there when the user comes back to it", async () => {
  const page = await open(...SESSION_OPENED, structuredClone(FORM_REQUEST), ...PARALLEL_QUESTIONS.slice(-2));
  const field = (): HTMLInputElement | null => page.find("elicitation").querySelector("input[type=text], input:not([type])");
  await page.write(field() as HTMLElement, "Ahoy");
  await page.press("question-next");
  assert.equal(page.findAll("elicitation").length, 0);
  await page.press("question-previous");
  assert.equal(field()?.value, "Ahoy");
  page.close();
});

test("nothing is allowed before its own end was in view, and what was seen stays so", async () => {
  setHeights((id) => (id === "q3" ? 100 : 300));
  const page = await open(...PARALLEL_QUESTIONS);
  const allow = async (): Promise<void> => {
    mock.timers.tick(KEY_GUARD_MILLISECONDS);
    await page.key(page.find("permission"), "y");
  };
  // The end of the first question says nothing about the second.
  await act(() => {
    const body = page.find("question-body");
    body.scrollTop = 200;
    body.dispatchEvent(new window.Event("scroll"));
  });
  await page.press("question-next");
  await allow();
  assert.deepEqual(answers(page), []);
  await page.press("question-previous");
  assert.equal(page.find("question-body").scrollTop, 0);
  await allow();
  assert.deepEqual(answers(page), [["q1", "allow_once"]]);
  // A command that becomes another one was not seen.
  const other: ToolCallUpdate = { toolCallId: "q1", rawInput: { command: "rm -rf build\n" } };
  await page.dispatch({ type: "update", update: { sessionUpdate: "tool_call_update", ...other } });
  await allow();
  assert.equal(answers(page).length, 1);
  page.close();
});

test("a double click does not allow the question that takes the place of the answered one", async () => {
  setHeights(() => 100);
  const page = await open(...PARALLEL_QUESTIONS);
  await page.press("permission-allow_once");
  await page.dispatch(answered("q1"));
  await page.press("permission-allow_once");
  assert.deepEqual(answers(page), [["q1", "allow_once"]]);
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  await page.press("permission-allow_once");
  assert.deepEqual(answers(page), [["q1", "allow_once"], ["q2", "allow_once"]]);
  page.close();
});

const diff = (path: string): NonNullable<ToolCallUpdate["content"]>[number] => ({ type: "diff", path, oldText: "a\n", newText: "b\n" });
const long = `mcp: ${"a very long title ".repeat(20)}`;

for (const [call, heading, thing] of [
  [{ title: "`npm test`", kind: "execute", rawInput: { command: "npm test" } }, "Run this command?", ""],
  [{ title: "`set -e …`", kind: "execute", rawInput: { command: "set -e\nmake" } }, "Run this command?", ""],
  [{ title: "Run the tests", kind: "execute", rawInput: { command: "npm test" } }, "Run this command?", "Run the tests"],
  [{ title: "Connect to example.com?", kind: "execute", rawInput: { command: "npm test" } }, "Connect to example.com?", ""],
  [{ title: "`ls a?`", kind: "execute", rawInput: { command: "ls a?" } }, "Run this command?", ""],
  [{ title: "npm test", kind: "execute" }, "Run this command?", "npm test"],
  [{ title: "Edit src/app.ts", kind: "edit", content: [diff("/project/src/app.ts")] }, "Edit src/app.ts?", ""],
  [{ title: "Edit", kind: "edit", locations: [{ path: "/project/src/app.ts" }] }, "Edit src/app.ts?", "Edit"],
  [{ title: "Edit 3 files", kind: "edit", content: ["a", "b", "c"].map((name) => diff(`/project/${name}`)) }, "Edit 3 files?", ""],
  [{ title: "Write `/etc/hosts`", kind: "edit", content: [diff("/etc/hosts")] }, "Edit /etc/hosts?", "Write /etc/hosts"],
  [{ title: "Read /etc/hosts", kind: "read", locations: [{ path: "/etc/hosts" }] }, "Read a file outside the workspace?", "Read /etc/hosts"],
  [{ title: "Read .env", kind: "read", locations: [{ path: "/project/.env" }] }, "Read .env?", ""],
  [{ title: "Remove it", kind: "delete" }, "Delete files?", "Remove it"],
  [{ title: long, kind: "other" }, "Allow this?", long.trim()],
] as [Partial<ToolCallUpdate>, string, string][]) {
  test(`the question about “${call.title?.slice(0, 30) ?? ""}” is “${heading}”, and its title is shown whole`, async () => {
    const page = await open(...SESSION_OPENED, { type: "permission", questionId: "q", call: { toolCallId: "c", ...call }, options: [...OPTIONS] });
    assert.equal(page.root.querySelector(".question-title .title")?.textContent, heading);
    assert.equal(page.findAll("question-thing").map(({ textContent }) => textContent.trim()).join(), thing);
    page.close();
  });
}

test("a card names its only file once, but a title that only ends like its path hides none", async () => {
  const asked = (title: string): ViewEvent => {
    const content: ToolCallUpdate["content"] = [{ type: "diff", path: "/project/a.py", oldText: "one\n", newText: "two\n" }];
    return { type: "permission", questionId: "q", call: { toolCallId: "c", title, kind: "edit", content }, options: [...OPTIONS] };
  };
  const named = await open(...SESSION_OPENED, asked("Edit a.py"));
  assert.equal(named.find("question-dock").textContent.match(/a\.py/g)?.length, 1);
  assert.match(named.find("question-dock").querySelector(".question-title")?.textContent ?? "", /^Edit a\.py\?\+1−1/);
  named.close();
  for (const title of ["Edit safe/a.py?", "Edit data.py?"]) {
    const other = await open(...SESSION_OPENED, asked(title));
    assert.match(other.find("question-body").textContent, /^a\.py/, title);
    other.close();
  }
});

test("a part that was rejected in the editor is struck, not counted, and not among those that are allowed", async () => {
  const part = (line: number): RejectedPart => ({ diff: 0, oldStart: line, oldEnd: line + 1, newStart: line, newEnd: line + 1 });
  const parts = (...rejected: RejectedPart[]): ViewEvent => ({ type: "parts", callId: "c", total: 2, rejected });
  const content: ToolCallUpdate["content"] = [{ type: "diff", path: "/project/a", oldText: "one\ntwo\nthree\n", newText: "1\ntwo\n3\n" }];
  const asked: ViewEvent = { type: "permission", questionId: "q", call: { toolCallId: "c", title: "Edit a", kind: "edit", content }, options: [...OPTIONS] };
  const page = await open(...SESSION_OPENED, asked, parts(part(0)));
  const body = page.find("question-body");
  const struck = (root: HTMLElement): unknown[] => [...root.querySelectorAll(".diff-line.rejected .code")].map(({ textContent }) => textContent);
  assert.deepEqual(struck(body), ["1"]);
  // What it would have replaced stays, and has its number.
  assert.deepEqual([...body.querySelectorAll(".diff-line")].map(({ className, textContent }) => [className.split(" ").at(-1), textContent]), [
    ["remark", "You rejected this part"], ["same", "1 one"], ["rejected", "+1"], ["same", "2 two"], ["removed", "-three"], ["added", "3+3"],
  ]);
  assert.equal(page.find("question-dock").querySelector(".added-count")?.textContent, "+1");
  assert.match(page.find("permission-allow_once").textContent, /^Allow 1 of 2 parts/);
  await page.dispatch(parts());
  assert.deepEqual([struck(body), page.find("permission-allow_once").textContent], [[], "Allow oncey"]);
  // Without any part left, there is nothing to allow.
  await page.dispatch(parts(part(0), part(2)));
  await page.key(page.find("permission"), "y");
  assert.deepEqual([page.findAll("permission-allow_once").length, answers(page)], [0, []]);
  // The card shows the same once it is answered.
  await page.dispatch(parts(part(2)), { type: "answered", questionId: "q", outcome: { outcome: "selected", optionId: "allow_once", name: "" } });
  const card = page.find("tool-call");
  assert.deepEqual([struck(card), card.querySelector(".decision")?.textContent], [["3"], "Allowed 1 of 2 parts"]);
  page.close();
});

test("lines after rejected parts have the numbers that they have without them", async () => {
  const content: ToolCallUpdate["content"] = [{ type: "diff", path: "/project/a", oldText: "one\ntwo\nthree\n", newText: "1\n1a\n1b\ntwo\n3\n" }];
  const asked: ViewEvent = { type: "permission", questionId: "q", call: { toolCallId: "c", title: "Edit a", kind: "edit", content }, options: [...OPTIONS] };
  const page = await open(...SESSION_OPENED, asked, { type: "parts", callId: "c", total: 2, rejected: [{ diff: 0, oldStart: 0, oldEnd: 1, newStart: 0, newEnd: 3 }] });
  const numbered = [...page.find("question-body").querySelectorAll(".diff-line")].flatMap(({ textContent }) => (/^\d+[ +]/.test(textContent) ? [textContent] : []));
  assert.deepEqual(numbered, ["1 one", "2 two", "3+3"]);
  page.close();
});

for (const isReloaded of [false, true]) {
  test(`what the agent was told of rejected parts is no message of the user${isReloaded ? ", also after a reload" : ""}`, async () => {
    const told = ALLOWED_PART.flatMap((event) => (event.type === "prompted" && event.busyMode === "steer" ? event.blocks : []))[0];
    assert.ok(told !== undefined);
    const replayed: ViewEvent = { type: "update", update: { sessionUpdate: "user_message_chunk", messageId: "m", content: told } };
    const page = await open(...(isReloaded ? [...SESSION_OPENED, replayed] : ALLOWED_PART));
    assert.doesNotMatch(page.findAll("user-message").map(({ textContent }) => textContent).join(), /only in part/);
    const note = page.find("told-parts") as HTMLDetailsElement;
    assert.deepEqual([note.open, note.querySelector("summary")?.textContent], [false, "Told the agent what you rejected in averages.py"]);
    page.close();
  });
}

test("the parts that the agent was told of are shown as a diff", async () => {
  const page = await open(...ALLOWED_PART);
  const prompt = page.find("told-parts");
  assert.deepEqual([...prompt.querySelectorAll(".diff-line")].map(({ className, textContent }) => [className, textContent]), [
    ["diff-line removed", "-    return sum(numbers) / len(numbers)"],
    ["diff-line added", "+    return sum(numbers) / max(len(numbers), 1)"],
  ]);
  assert.doesNotMatch(prompt.textContent, /```|diff/);
  page.close();
});

test("the menu of lasting answers to a command says that the whole command runs now", async () => {
  const page = await open(...PARALLEL_QUESTIONS);
  await page.press("permission-more");
  const note = (): string | undefined => document.querySelector("[role=menu] > p")?.textContent;
  assert.match(note() ?? "", /runs the whole command now\. Later, only what the answer names/);
  page.close();
  const edit = await open(...SESSION_OPENED, { type: "permission", questionId: "q", call: { toolCallId: "c", title: "Edit a", kind: "edit" }, options: [...OPTIONS] });
  await edit.press("permission-more");
  assert.equal(note(), undefined);
  edit.close();
});
