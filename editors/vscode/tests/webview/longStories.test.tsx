/** Long sessions, several questions, and everything that must stay in sight. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { ViewEvent } from "../../src/shared/events.js";
import { act, observed, TestPage } from "../support/page.js";
import { KEY_GUARD_MILLISECONDS } from "../../src/webview/focus.js";
import { SESSION_OPENED } from "../support/conversation.js";
import { ANSWERED_FORM, LONG_OPENED, manyMessages, PARALLEL_QUESTIONS, SHORT_PROMPT } from "../support/longConversation.js";

/** How long a long session is; `MESSAGES` asks for more. */
const MESSAGES = Number(process.env["MESSAGES"] ?? 36);

test("further answers are in a menu, operated by keyboard", async () => {
  mock.timers.enable({ apis: ["Date"], now: 1000 });
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  mock.timers.tick(KEY_GUARD_MILLISECONDS);
  await page.key(page.find("permission"), "a");
  const items = [...page.root.querySelectorAll<HTMLElement>('[role="menuitem"]')];
  assert.deepEqual(items.map((item) => item.dataset["optionId"]), ["allow_session", "allow_workspace", "reject_workspace"]);
  assert.equal(document.activeElement, items[0]);
  await page.key(items[0] as Element, "n");
  assert.deepEqual(page.posted, [], "a key of the question answered it from the menu");
  await page.key(items[0] as Element, "ArrowDown");
  assert.equal(document.activeElement, items[1]);
  items[1]?.click();
  assert.deepEqual(page.posted, [{ type: "permit", questionId: "q1", optionId: "allow_workspace", reason: "" }]);
  page.close();
  mock.timers.reset();
});

for (const [menu, testId, events] of [
  ["of further answers", "permission-more", PARALLEL_QUESTIONS],
  ["of a prompt", "restore-prompt", [...SESSION_OPENED, ...SHORT_PROMPT]],
] as const) {
  test(`where the page ends, the menu ${menu} opens above, or is as high as there is room, and moves nothing`, async (context) => {
    // A menu of 200 pixels below what begins at `start`; jsdom has no layout.
    const place = { start: 0, below: 0 };
    const isMenu = (node: Element): boolean => node.getAttribute("role") === "menu";
    const { prototype } = window.HTMLElement;
    const layout = mock.method(prototype, "getBoundingClientRect", function (this: HTMLElement) {
      const top = window.innerHeight - place.below;
      return isMenu(this) ? { top, bottom: top + 200 } : { top: place.start, bottom: top };
    });
    const offsetParent = Object.getOwnPropertyDescriptor(prototype, "offsetParent") ?? {};
    Object.defineProperty(prototype, "offsetParent", { configurable: true, get(this: HTMLElement) { return this.parentElement; } });
    context.after(() => { layout.mock.restore(); Object.defineProperty(prototype, "offsetParent", offsetParent); });
    const seen: (readonly (string | undefined)[])[] = [];
    const page = await new TestPage().dispatch(...events);
    for (const [start, below] of [[300, 204], [300, 203], [150, 104], [100, 134]] as const) {
      Object.assign(place, { start, below });
      await page.press(testId);
      const items = page.root.querySelector<HTMLElement>('[role="menu"]');
      seen.push([items?.className, items?.style.maxHeight]);
      assert.equal(items?.parentElement?.getAttribute("style"), null);
      await page.press(testId);
    }
    assert.deepEqual(seen, [["menu-items below", "200px"], ["menu-items", "296px"], ["menu-items", "146px"], ["menu-items below", "130px"]]);
    page.close();
  });
}

test("a double click on what opens a menu chooses nothing of it, whatever has come under the pointer", async () => {
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  const click = (testId: string, detail: number): Promise<void> =>
    act(() => { page.find(testId).dispatchEvent(new window.MouseEvent("click", { bubbles: true, cancelable: true, detail })); });
  await click("permission-more", 1);
  for (const detail of [2, 3]) for (const testId of ["permission-more", "permission-allow_always"]) await click(testId, detail);
  assert.deepEqual([page.posted, page.root.querySelectorAll("[role=menu]").length], [[], 1]);
  await click("permission-allow_always", 1);
  assert.deepEqual(page.posted, [{ type: "permit", questionId: "q1", optionId: "allow_session", reason: "" }]);
  page.close();
});

test("a rejection can have a reason", async () => {
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  await page.press("permission-reason");
  const input = page.find("permission-reason-input") as HTMLInputElement;
  input.value = " use the mirror ";
  await page.key(input, "y");
  assert.deepEqual(page.posted, []);
  await page.key(input, "Enter");
  await page.press("permission-reason-send");
  const sent = { type: "permit", questionId: "q1", optionId: "reject_once", reason: "use the mirror" };
  assert.deepEqual(page.posted, [sent, sent]);
});

test("a question of another session is marked in the list and in a banner that leads to it", async () => {
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  assert.match(page.find("banner-question").textContent, /^Question in “Make the nightly build.*”/);
  await page.press("show-question");
  assert.deepEqual(page.posted, [{ type: "openSession", id: "s2" }]);
  await page.press("header-sessions");
  assert.equal(page.findAll("session-asks").length, 2);
});

test("the answer to a form stays in the conversation, with the titles of its fields", async () => {
  const page = await new TestPage().dispatch(...ANSWERED_FORM);
  assert.match(page.find("answer").textContent, /old invoices keep\?Rounding.*Half to even.*Notes.*As the bank/);
});

test("of a long session only the last screenful is rendered at once, and earlier parts one per frame when they come near", async () => {
  observed.length = 0;
  const page = await new TestPage().dispatch(...manyMessages(MESSAGES));
  const shown = (): (string | null)[] => page.findAll("user-message").map((message) => message.textContent);
  assert.ok(shown().length <= 4, String(shown().length));
  assert.equal(shown().at(-1), `Prompt ${String(MESSAGES / 2 - 1)}`);
  const frame = (): Promise<void> => act(() => new Promise<void>((resolve) => { requestAnimationFrame(() => { resolve(); }); }));
  const entriesPerFrame: number[] = [];
  for (const part of observed) part.near(); // and those that are observed meanwhile
  for (let frames = 0; frames < 200 && shown()[0] !== "Prompt 0"; frames += 1) {
    const before = page.root.querySelectorAll(".chunk > *").length;
    for (const part of observed.splice(0)) part.near();
    await frame();
    entriesPerFrame.push(page.root.querySelectorAll(".chunk > *").length - before);
  }
  assert.equal(shown()[0], "Prompt 0");
  assert.ok(Math.max(...entriesPerFrame) <= 12, entriesPerFrame.join(" "));
  page.close();
});

test("a new entry renders no earlier part of a long session again", async () => {
  const page = await new TestPage().dispatch(...manyMessages(MESSAGES));
  let rendered = 0;
  const watch = new window.MutationObserver((records) => (rendered += records.length));
  const content = page.root.querySelector(".transcript-content");
  assert.ok(content !== null);
  watch.observe(content, { childList: true, subtree: true, attributes: true });
  await page.dispatch({ type: "prompted", id: "last", blocks: [{ type: "text", text: "One more" }], busyMode: "turn" });
  assert.equal(page.findAll("user-message").at(-1)?.textContent, "One more");
  watch.disconnect();
  assert.ok(rendered < 5, String(rendered));
  page.close();
});

test("all commands are listed", async () => {
  const page = await new TestPage().dispatch(...LONG_OPENED);
  const input = page.find("composer-input");
  await page.write(input, "/");
  assert.equal(page.findAll("completion").length, 23);
  await page.key(input, "ArrowUp");
  assert.equal(page.findAll("completion").at(-1)?.getAttribute("aria-selected"), "true");
  await page.write(input, "/cr");
  assert.deepEqual(page.findAll("completion").map((each) => each.querySelector("span")?.textContent), ["/code-review"]);
});

test("a file outside of the workspace is attached only on request", async () => {
  const outside = { type: "editor", file: "/etc/hosts", label: "/etc/hosts", isInWorkspace: false, firstLine: 0, lastLine: 0, problems: 0 } as const;
  const page = await new TestPage().dispatch(...SESSION_OPENED, outside);
  const send = async (): Promise<unknown> => {
    await page.write(page.find("composer-input"), "hi");
    await page.key(page.find("composer-input"), "Enter");
    const sent = page.posted.at(-1);
    return sent?.type === "send" && sent.draft.withFile;
  };
  assert.equal(await send(), false);
  await page.press("attach-file");
  assert.equal(await send(), true);
});

test("attached files are mentioned in the draft, once", async () => {
  const mention = { kind: "file", path: "/project/a b.py", firstLine: 0, lastLine: 0 } as const;
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const event: ViewEvent = { type: "attach", number: 1, choices: [{ mention, label: "a b.py", detail: "" }] };
  await page.dispatch(event);
  await page.dispatch(event);
  const input = page.find("composer-input") as HTMLTextAreaElement;
  assert.equal(input.value, "@a b.py ");
  await page.key(input, "Enter");
  const sent = page.posted.at(-1);
  assert.deepEqual(sent?.type === "send" && sent.draft.mentions, [mention]);
});

test("files that were attached while the page did not exist are mentioned, but not in the page after it", async () => {
  const mention = { kind: "file", path: "/project/a.py", firstLine: 0, lastLine: 0 } as const;
  const event: ViewEvent = { type: "attach", number: 7, choices: [{ mention, label: "a.py", detail: "" }] };
  const page = await new TestPage().dispatch(event, ...SESSION_OPENED);
  assert.equal((page.find("composer-input") as HTMLTextAreaElement).value, "@a.py ");
  const { savedState } = page;
  page.close();
  const next = await new TestPage(savedState).dispatch(event, ...SESSION_OPENED);
  assert.equal((next.find("composer-input") as HTMLTextAreaElement).value, "@a.py ");
});

test("a large diff is shown in steps", async () => {
  const text = (word: string): string => Array.from({ length: 1500 }, (_, line) => `${word} ${String(line)}\n`).join("");
  const call = { sessionUpdate: "tool_call", toolCallId: "d", title: "Edit", kind: "edit", status: "completed" } as const;
  const content = [{ type: "diff" as const, path: "/project/a.txt", oldText: text("a"), newText: text("b") }];
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "update", update: { ...call, content } });
  const lines = (): number => page.root.querySelectorAll(".diff-line").length;
  assert.equal(lines(), 200);
  await page.press("diff-more");
  assert.equal(lines(), 1200);
});

test("parts of an answer's name in backticks are shown as code, in the menu too", async () => {
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  await page.press("permission-more");
  const [first] = page.root.querySelectorAll('[role="menuitem"]');
  assert.equal(first?.textContent, "Allow curl to downloads.example.com for this session");
  assert.equal(first.querySelector("code")?.textContent, "curl");
});

test("a diff names its file, so the card's links do not name it again", async () => {
  const call = { sessionUpdate: "tool_call", toolCallId: "d", title: "Edit", kind: "edit", status: "completed" } as const;
  const content = [{ type: "diff" as const, path: "/project/a.txt", oldText: "a\n", newText: "b\n" }];
  const locations = [{ path: "/project/a.txt", line: 1 }, { path: "/project/b.txt", line: 2 }];
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "update", update: { ...call, content, locations } });
  assert.deepEqual(page.findAll("tool-call-location").map((link) => link.textContent), ["b.txt:2"]);
});
