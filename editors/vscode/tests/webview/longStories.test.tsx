/** Long sessions, several questions, and everything that must stay in sight. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { ViewEvent } from "../../src/shared/events.js";
import { act, observed, TestPage } from "../support/page.js";
import { KEY_GUARD_MILLISECONDS } from "../../src/webview/focus.js";
import { SESSION_OPENED } from "../support/conversation.js";
import { ANSWERED_FORM, LONG_OPENED, manyMessages, PARALLEL_QUESTIONS } from "../support/longConversation.js";

test("only the oldest of several questions is docked, with the number that wait", async () => {
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  assert.equal(page.findAll("permission").length, 1);
  assert.equal(page.find("questions-waiting").textContent, "2 more questions wait");
  assert.match(page.find("question-body").textContent, /very-long-name-of-a-script\.sh \| sh/);
  await page.dispatch({ type: "answered", questionId: "q1", outcome: { outcome: "cancelled" } });
  assert.match(page.find("question-body").textContent, /docker compose up -d/);
  assert.equal(page.find("questions-waiting").textContent, "1 more question waits");
});

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

test("a rejection can have a reason", async () => {
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  await page.press("permission-reason");
  const input = page.find("permission-reason-input") as HTMLInputElement;
  input.value = " use the mirror ";
  await page.key(input, "y");
  assert.deepEqual(page.posted, []);
  await page.key(input, "Enter");
  assert.deepEqual(page.posted, [{ type: "permit", questionId: "q1", optionId: "reject_once", reason: "use the mirror" }]);
});

test("a question of another session is marked in the list and in a banner that leads to it", async () => {
  const page = await new TestPage().dispatch(...PARALLEL_QUESTIONS);
  assert.match(page.find("banner-question").textContent, /Another session asks: Make the nightly build/);
  await page.press("show-question");
  assert.deepEqual(page.posted, [{ type: "openSession", id: "s2" }]);
  await page.press("header-sessions");
  assert.equal(page.findAll("session-asks").length, 2);
});

test("the answer to a form stays in the conversation, with the titles of its fields", async () => {
  const page = await new TestPage().dispatch(...ANSWERED_FORM);
  assert.match(page.find("answer").textContent, /old invoices keep\?Rounding.*Half to even.*Notes.*As the bank/);
});

test("of a long session only the end is rendered, and earlier entries when they come near", async () => {
  const page = await new TestPage().dispatch(...manyMessages(400));
  const shown = page.findAll("user-message").length;
  assert.ok(shown > 5 && shown < 20, String(shown));
  assert.equal(page.findAll("user-message").at(-1)?.textContent, "Prompt 199");
  await act(() => {
    observed[0]?.near();
  });
  assert.equal(page.findAll("user-message")[0]?.textContent, "Prompt 0");
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
