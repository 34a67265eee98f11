/** Nothing is allowed unseen: a question that is taller than its place is shown to its end first. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import type { ToolCallContent } from "@agentclientprotocol/sdk";
import type { ViewEvent } from "../../src/shared/events.js";
import { KEY_GUARD_MILLISECONDS } from "../../src/webview/focus.js";
import { formatPath } from "../../src/webview/format.js";
import { CONVERSATION, FULL_CONVERSATION, PERMISSION_REQUEST, READY, SESSION_OPENED } from "../support/conversation.js";
import { FIVE_FILES, OPTIONS, PARALLEL_QUESTIONS } from "../support/longConversation.js";
import { act, TestPage } from "../support/page.js";

const PLACE = 100;
const LINE = 17;
/** Positions of the body's content; jsdom has no layout. */
const layout = { place: PLACE, content: 300 };

beforeEach(() => {
  mock.timers.enable({ apis: ["Date"], now: 1000 });
  Object.assign(layout, { place: PLACE, content: 300 });
  const isBody = (node: Element): boolean => node.classList.contains("question-body");
  const { prototype } = window.HTMLElement;
  mock.method(prototype, "getBoundingClientRect", function (this: HTMLElement) {
    // The body, and files of 60 pixels each that scroll in it.
    const body = this.closest<HTMLElement>(".question-body");
    if (body === null || isBody(this)) return { top: 0, bottom: layout.place };
    const top = [...body.querySelectorAll(".diff")].findIndex((diff) => diff.contains(this)) * 60 - body.scrollTop;
    return { top, bottom: top + 60 };
  });
  for (const [name, value] of [["clientHeight", "place"], ["scrollHeight", "content"]] as const) {
    Object.defineProperty(prototype, name, { configurable: true, get(this: HTMLElement) { return isBody(this) ? layout[value] : 0; } });
  }
});

afterEach(() => {
  for (const name of ["clientHeight", "scrollHeight"]) Reflect.deleteProperty(window.HTMLElement.prototype, name);
  mock.restoreAll();
  mock.timers.reset();
});

async function open(events: readonly ViewEvent[]): Promise<TestPage> {
  const page = await new TestPage().dispatch(...events);
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  return page;
}

const answers = (page: TestPage): unknown[] => page.posted.flatMap((intent) => (intent.type === "permit" ? [intent.optionId] : []));
const rest = (page: TestPage): string => page.findAll("question-rest").map(({ textContent }) => textContent.trim()).join();

async function scrollTo(page: TestPage, top: number): Promise<void> {
  await act(() => {
    const body = page.find("question-body");
    body.scrollTop = top;
    body.dispatchEvent(new window.Event("scroll"));
  });
}

test("the key that allows scrolls through the hidden lines first, and allows once their end was shown", async () => {
  const page = await open(PARALLEL_QUESTIONS);
  const tops: number[] = [];
  assert.equal(rest(page), "12 more lines");
  assert.equal(page.find("permission-allow_once").getAttribute("aria-describedby"), page.find("question-rest").id);
  assert.equal(page.find("permission-allow_once").textContent, "Show morey");
  while (rest(page) !== "") {
    await page.key(page.find("permission"), "y");
    tops.push(page.find("question-body").scrollTop);
    assert.deepEqual(answers(page), []);
    mock.timers.tick(KEY_GUARD_MILLISECONDS);
  }
  assert.deepEqual(tops, [67, 134, 201], "parts were skipped");
  assert.equal(page.find("permission-allow_once").textContent, "Allow oncey");
  // What was seen may be allowed, wherever the user scrolls.
  await scrollTo(page, 0);
  assert.equal(page.find("permission-allow_once").textContent, "Allow oncey");
  await page.key(page.find("permission"), "y");
  assert.deepEqual(answers(page), ["allow_once"]);
  page.close();
});

test("a double click, and a key that is held, do not allow what they have just brought into view", async () => {
  layout.content = PLACE + 2 * LINE;
  const page = await open(PARALLEL_QUESTIONS);
  await page.press("permission-allow_once");
  await page.press("permission-allow_once");
  await page.key(page.find("permission"), "y", { repeat: true });
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  await page.key(page.find("permission"), "y", { repeat: true });
  assert.deepEqual([answers(page), rest(page)], [[], ""]);
  await page.press("permission-allow_once");
  assert.deepEqual(answers(page), ["allow_once"]);
  page.close();
});

test("an answer that lasts allows nothing unseen either, and a rejection needs no look", async () => {
  const page = await open(PARALLEL_QUESTIONS);
  await page.key(page.find("permission"), "a");
  await page.press("permission-allow_always");
  assert.deepEqual(answers(page), []);
  await page.press("permission-reject_always");
  await page.key(page.find("permission"), "n");
  assert.deepEqual(answers(page), ["reject_workspace", "reject_once"]);
  page.close();
});

test("what was scrolled to its end stays seen, and the hidden lines are still counted", async () => {
  const page = await open(PARALLEL_QUESTIONS);
  await scrollTo(page, 200);
  await scrollTo(page, 0);
  assert.equal(rest(page), "12 more lines");
  await page.key(page.find("permission"), "y");
  assert.deepEqual(answers(page), ["allow_once"]);
  page.close();
});

test("where nothing is hidden, the first key allows, and the next question must be seen for itself", async () => {
  layout.content = PLACE;
  const page = await open(PARALLEL_QUESTIONS);
  assert.equal(rest(page), "");
  await page.key(page.find("permission"), "y");
  layout.content = 300;
  await page.dispatch({ type: "answered", questionId: "q1", outcome: { outcome: "cancelled" } });
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  await page.key(page.find("permission"), "y");
  assert.deepEqual(answers(page), ["allow_once"]);
  page.close();
});

test("a place without a line shows nothing, and so allows nothing", async () => {
  layout.place = 0;
  const page = await open(PARALLEL_QUESTIONS);
  await scrollTo(page, 300);
  await page.key(page.find("permission"), "y");
  assert.deepEqual(answers(page), []);
  page.close();
});

test("why the user is asked is not a part of what scrolls, and a long text is", async () => {
  const page = await open(PARALLEL_QUESTIONS);
  assert.equal(page.find("question-reason").textContent, "sh runs its input as code.");
  assert.doesNotMatch(page.find("question-body").textContent, /runs its input/);
  const text = "It runs its input. ".repeat(20);
  const call = { toolCallId: "long", title: "Long", content: [{ type: "content" as const, content: { type: "text" as const, text } }] };
  page.close();
  const other = await open([...SESSION_OPENED, { type: "permission", questionId: "q", call, options: OPTIONS }]);
  assert.equal(other.findAll("question-reason").length, 0);
  assert.match(other.find("question-body").textContent, /runs its input/);
  other.close();
});

test("a change of several files has its size in view, and the files that are hidden whole are counted", async () => {
  const page = await open(FIVE_FILES);
  assert.equal(page.find("question-summary").textContent, "+20");
  assert.equal(rest(page), "12 more lines, 3 more files");
  await scrollTo(page, 190);
  assert.equal(rest(page), "1 more line");
  page.close();
});

const edit = (...content: ToolCallContent[]): ViewEvent => ({
  type: "permission",
  questionId: "q",
  call: { toolCallId: "e", title: "Edit", kind: "edit", content },
  options: OPTIONS,
});
const diff = (path: string, oldText: string | null, newText: string): ToolCallContent => ({ type: "diff", path, oldText, newText });

test("lines that are not rendered yet are shown before they are allowed", async () => {
  layout.content = PLACE;
  const text = Array.from({ length: 1300 }, (_, line) => `${String(line)}\n`).join("");
  const page = await open([...SESSION_OPENED, edit(diff("/project/a.txt", null, text))]);
  assert.equal(rest(page), "1100 more lines");
  for (let presses = 0; presses < 2; presses += 1) {
    await page.key(page.find("permission"), "y");
    assert.deepEqual(answers(page), []);
    mock.timers.tick(KEY_GUARD_MILLISECONDS);
  }
  assert.equal(page.root.querySelectorAll(".question-body .diff-line").length, 1300);
  await page.key(page.find("permission"), "y");
  assert.deepEqual(answers(page), ["allow_once"]);
  page.close();
});

test("a diff names its file below the workspace, and says whether the file is new or goes", async () => {
  const page = await open([
    ...SESSION_OPENED,
    edit(
      diff("/project/src/a.txt", null, "a\n"),
      { ...diff("/etc/hosts", "a\n", ""), _meta: { hermes: { deletion: true } } },
      diff("/project/b.txt", "a\n", "b\n"),
      diff("/project/emptied.txt", "a\n", ""),
    ),
  ]);
  const heads = [...page.root.querySelectorAll<HTMLElement>(".question-body .diff-head")];
  assert.deepEqual(heads.map(({ textContent }) => textContent), ["src/a.txtnew+1", "/etc/hostsdeleted−1", "b.txt+1−1", "emptied.txt−1"]);
  assert.equal(heads[0]?.querySelector(".path")?.getAttribute("title"), "/project/src/a.txt");
  assert.equal(heads[1]?.querySelector(".file-name")?.textContent, "hosts");
  page.close();
});

test("paths are relative to the folder that they are in, on every system", () => {
  for (const [path, folder, shown] of [
    ["/project/src/a.py", "/project", "src/a.py"],
    ["/project2/a.py", "/project", "/project2/a.py"],
    ["/a.py", "/", "a.py"],
    ["/a.py", "", "/a.py"],
    ["c:\\Work\\src\\a.py", "C:\\Work", "src/a.py"],
    ["D:\\a.py", "C:\\Work", "D:\\a.py"],
    ["/project/a\\b.py", "/project", "a\\b.py"],
  ] as const) {
    assert.equal(formatPath(path, folder), shown);
  }
});

test("an answer that lasts takes two steps, also if it is the only one, and its name says how long it lasts", async () => {
  layout.content = PLACE;
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, ...PERMISSION_REQUEST);
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  await page.key(page.find("permission"), "a");
  assert.deepEqual(page.posted, []);
  assert.equal(page.find("permission-allow_always").textContent, "Always allow git push in this workspace");
  await page.press("permission-allow_always");
  assert.deepEqual(page.posted, [{ type: "permit", questionId: "q1", optionId: "always", reason: "" }]);
  page.close();
});

test("a question of a server that has stopped cannot be answered", async () => {
  const page = await new TestPage().dispatch(...FULL_CONVERSATION, { ...READY, status: "restarting" });
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  for (const key of ["y", "n"]) await page.key(page.find("permission"), key);
  for (const answer of ["permission-allow_once", "permission-reject_once"]) await page.press(answer);
  assert.deepEqual(page.posted, []);
  await page.dispatch(READY);
  await page.press("permission-reject_once");
  assert.deepEqual(page.posted, [{ type: "permit", questionId: "q1", optionId: "no", reason: "" }]);
  page.close();
});
