import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { SessionSummary, ViewEvent } from "../../src/shared/events.js";
import { act, TestPage } from "../support/page.js";
import { KEY_GUARD_MILLISECONDS } from "../../src/webview/focus.js";
import { PERMISSION_REQUEST, FORM_REQUEST, SESSION_OPENED, QUEUED_PROMPT, READY, CONVERSATION, FULL_CONVERSATION } from "../support/conversation.js";

const TURN_FAILED: ViewEvent = { type: "ended", reason: "error", error: "The endpoint is down." };
const switches = { withFile: true, withSelection: true, withProblems: false };

test("Enter sends the prompt and empties the input", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const input = page.find("composer-input") as HTMLTextAreaElement;
  await page.write(input, "hello");
  await page.key(input, "Enter", { shiftKey: true });
  assert.deepEqual(page.posted, []);
  await page.key(input, "Enter");
  const draft = { text: "hello", images: [], mentions: [], ...switches };
  assert.deepEqual(page.posted, [{ type: "send", draft, busyMode: "turn" }]);
  assert.equal(input.value, "");
});

test("text typed while the server restarts stays in the input", async () => {
  const away = { ...READY, status: "restarting" } as const;
  const page = await new TestPage().dispatch(...SESSION_OPENED, away);
  const input = page.find("composer-input") as HTMLTextAreaElement;
  await page.write(input, "hello");
  await page.key(input, "Enter");
  assert.deepEqual([page.posted, input.value], [[], "hello"]);
  await page.dispatch(READY);
  await page.key(input, "Enter");
  assert.deepEqual(page.posted.map(({ type }) => type), ["send"]);
});

for (const [key, busyMode] of [
  [{}, "steer"],
  [{ altKey: true }, "queue"],
] as const) {
  test(`while the agent works, a prompt is sent with the mode ${busyMode}`, async () => {
    const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
    const input = page.find("composer-input");
    await page.write(input, "wait");
    await page.key(input, "Enter", key);
    const [sent] = page.posted;
    assert.equal(sent?.type === "send" && sent.busyMode, busyMode);
  });
}

test("Escape stops the turn", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  await page.key(page.find("composer-input"), "Escape");
  assert.deepEqual(page.posted, [{ type: "stop" }]);
});

test("a draft survives a reload", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  await page.write(page.find("composer-input"), "half a thou");
  const again = await new TestPage(page.savedState).dispatch(...SESSION_OPENED);
  assert.equal((again.find("composer-input") as HTMLTextAreaElement).value, "half a thou");
});

test("a draft that was sent does not return with an older state of the view, and one that was not does", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const prompt = (text: string): ViewEvent => ({ type: "update", update: { sessionUpdate: "user_message_chunk", messageId: text, content: { type: "text", text } } });
  await page.dispatch(prompt("first of all"));
  await page.write(page.find("composer-input"), "what is");
  const older = page.savedState;
  const draftAfter = async (...events: readonly ViewEvent[]): Promise<string> => {
    const again = await new TestPage(older).dispatch(...SESSION_OPENED, ...events);
    return (again.find("composer-input") as HTMLTextAreaElement).value;
  };
  const sent = [prompt("first of all"), prompt("what is on the list?")];
  assert.equal(await draftAfter(...sent), "");
  assert.equal(await draftAfter(prompt("what is on the list?")), "what is", "an earlier prompt that began alike");
  assert.equal(await draftAfter(...sent.slice(0, 1), { type: "queue", prompts: [{ id: "p", text: "what is new?" }] }), "");
  const loading = SESSION_OPENED.map((event) => (event.type === "session" ? { ...event, isLoading: true } : event));
  const late = await new TestPage(older).dispatch(...loading);
  const input = late.find("composer-input") as HTMLTextAreaElement;
  assert.equal(input.value, "what is");
  await late.dispatch(...sent, ...SESSION_OPENED);
  assert.equal(input.value, "");
});

test("a prompt that could not be sent is put back once", async () => {
  const back: ViewEvent = { type: "restore", text: "again", number: 1 };
  const page = await new TestPage().dispatch(...SESSION_OPENED, back);
  const input = page.find("composer-input") as HTMLTextAreaElement;
  assert.equal(input.value, "again");
  await page.write(input, "");
  const reloaded = await new TestPage(page.savedState).dispatch(...SESSION_OPENED, back);
  assert.equal((reloaded.find("composer-input") as HTMLTextAreaElement).value, "");
});

test("a permission request focuses the reject button, and keys answer it", async () => {
  for (const [key, optionId] of [
    ["y", "once"],
    ["n", "no"],
  ] as const) {
    mock.timers.enable({ apis: ["Date"], now: 1000 });
    const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, ...PERMISSION_REQUEST);
    assert.equal(document.activeElement, page.find("permission-reject_once"));
    await page.key(page.find("permission"), key);
    assert.deepEqual(page.posted, [], "a key pressed too early answers nothing");
    mock.timers.tick(KEY_GUARD_MILLISECONDS);
    await page.key(page.find("permission"), key);
    assert.deepEqual(page.posted, [{ type: "permit", questionId: "q1", optionId, reason: "" }]);
    page.close();
    mock.timers.reset();
  }
});

test("the answers for this once stand side by side, and an answer that lasts comes after them", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, ...PERMISSION_REQUEST);
  const answers = [...page.find("permission").querySelectorAll("button")].map(({ dataset }) => dataset["testid"]);
  assert.deepEqual(answers, ["permission-allow_once", "permission-reject_once", "permission-reason", "permission-more"]);
});

test("a permission request does not take the focus from a user who is typing", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  const input = page.find("composer-input");
  await page.write(input, "yes and no");
  input.focus();
  await page.dispatch(...PERMISSION_REQUEST);
  assert.equal(document.activeElement, input);
  assert.equal(page.find("announcer").textContent, "The agent asks for permission: `git push origin main`");
});

test("a permission request waits for the focus while the user is in the editor", async () => {
  const hasFocus = mock.method(document, "hasFocus", () => false);
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, ...PERMISSION_REQUEST);
  assert.notEqual(document.activeElement, page.find("permission-reject_once"));
  window.dispatchEvent(new window.Event("focus"));
  assert.equal(document.activeElement, page.find("permission-reject_once"));
  hasFocus.mock.restore();
});

test("a dropped image is attached to the prompt, other files are not", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const dropped = [
    new window.File([new Uint8Array([1, 2, 3])], "a.png", { type: "image/png" }),
    new window.File(["x"], "a.svg", { type: "image/svg+xml" }),
  ];
  const event = Object.assign(new window.Event("drop", { bubbles: true, cancelable: true }), {
    dataTransfer: { files: dropped, getData: () => "" },
  });
  page.find("composer-input").dispatchEvent(event);
  for (let round = 0; round < 100 && page.findAll("attached-image").length === 0; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5)); // the file is read asynchronously
    await page.dispatch();
  }
  await page.key(page.find("composer-input"), "Enter");
  const [sent] = page.posted;
  const images = sent?.type === "send" ? sent.draft.images : [];
  assert.deepEqual(images, [{ mimeType: "image/png", data: "AQID" }]);
});

test("a permission request is docked above the input and disappears with the turn", async () => {
  const page = await new TestPage().dispatch(...FULL_CONVERSATION);
  assert.ok(page.find("question-dock").contains(page.find("permission")));
  assert.match(page.find("question-dock").textContent, /git push origin main.*can contact other machines/s);
  await page.dispatch({ type: "ended", reason: "cancelled", error: "" });
  assert.equal(page.findAll("permission").length, 0);
  assert.equal(page.findAll("tool-call").at(-1)?.getAttribute("data-status"), "failed");
});

test("a call that the user rejected is folded: they have seen it", async () => {
  const call = { toolCallId: "e", title: "Edit a", content: [{ type: "diff" as const, path: "/a", oldText: "a", newText: "b" }] };
  const options = [{ optionId: "n", name: "Reject", kind: "reject_once" as const }];
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "permission", questionId: "q", call, options });
  assert.equal(page.find("tool-call-toggle").getAttribute("aria-expanded"), "false");
  await page.dispatch({ type: "answered", questionId: "q", outcome: { outcome: "selected", optionId: "n", name: "Reject" } });
  assert.equal(page.find("tool-call-toggle").getAttribute("aria-expanded"), "false");
  assert.match(page.find("tool-call").textContent, /Edit a.*Rejected/);
});

test("the plan is docked while the agent works, and what it left unfinished is in the conversation", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  assert.equal(page.root.querySelectorAll(".dock [data-testid=plan]").length, 1);
  await page.dispatch({ type: "ended", reason: "end_turn", error: "" });
  assert.equal(page.root.querySelectorAll(".dock [data-testid=plan]").length, 0);
  assert.match(page.find("transcript").textContent, /Plan 1\/3Return the text, with types$/);
});

test("a long command is cut in the title of its card, and only below it in the open card, which does not name its folder", async () => {
  const command = `cd services && ${"python -m pytest tests/integration --maxfail=1 && ".repeat(6)}true\necho done`;
  const shared = { sessionUpdate: "tool_call" as const, kind: "execute" as const, status: "completed" as const, locations: [{ path: "/project" }] } satisfies Partial<SessionUpdate>;
  const page = await new TestPage().dispatch(
    ...SESSION_OPENED,
    { type: "update", update: { ...shared, toolCallId: "long", title: "`cd services …`", rawInput: { command } } },
    { type: "update", update: { ...shared, toolCallId: "short", title: "`ls`", rawInput: { command: "ls" } } },
  );
  assert.equal(page.findAll("command").length, 0);
  assert.equal(page.root.querySelector(".command-title")?.textContent, command);
  for (const toggle of page.findAll("tool-call-toggle")) await act(() => { toggle.click(); });
  assert.deepEqual(page.findAll("tool-call").map(({ textContent }) => textContent), [`Command${command}`, "ls"]);
  assert.deepEqual(page.findAll("command").map(({ textContent }) => textContent), [command]);
  assert.equal(page.findAll("tool-call-location").length, 0);
});

test("a restart is said once, with its cause and the last words of the agent below it", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, { ...READY, status: "restarting", message: "The agent stopped (SIGKILL).\nout of memory" });
  assert.deepEqual([...page.find("banner-restarting").querySelectorAll("p")].map(({ textContent }) => textContent), ["The agent stopped (SIGKILL). It is being restarted.", "out of memory"]);
  await page.dispatch({ ...READY, status: "restarting", message: "" });
  assert.equal(page.find("banner-restarting").textContent, "It is being restarted.");
});

test("a session without a title has in the header the one that the list shows", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "title", title: "" });
  assert.equal(page.find("header-sessions").textContent, "Greet with types");
});

test("lines are named as compilers do, in the input and in a prompt", async () => {
  const uris = ["file:///p/order.ts#L4-4", "file:///p/order.ts#L4-9", "file:///p/order.ts#L4", "file:///p/order.ts", "file:///p/order.ts#total"];
  const blocks = uris.map((uri) => ({ type: "resource", resource: { uri, text: "" } }) as const);
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "prompted", id: "p", blocks, busyMode: "turn" });
  const chips = [...page.find("user-message").querySelectorAll(".chip")];
  assert.deepEqual(chips.map(({ textContent }) => textContent), ["order.ts:4", "order.ts:4-9", "order.ts:4", "order.ts", "order.ts total"]);
  const selected = { type: "editor", file: "/p/a.py", label: "a.py", isInWorkspace: true, firstLine: 7, lastLine: 7, problems: 0 } as const;
  await page.dispatch(selected);
  assert.equal(page.find("attach-selection").textContent, "a.py:7");
  await page.dispatch({ ...selected, lastLine: 8 });
  assert.equal(page.find("attach-selection").textContent, "a.py:7-8");
});

test("a form marks its required fields, and its button is not a label of them", async () => {
  assert.ok(FORM_REQUEST.type === "elicitation" && FORM_REQUEST.form !== null);
  const { form } = FORM_REQUEST;
  const page = await new TestPage().dispatch(...SESSION_OPENED, { ...FORM_REQUEST, form: { ...form, required: ["choice", "count", "loud"] } });
  const labels = ["choice", "answer", "count", "loud"].map((name) => page.find(`field-${name}`).querySelector("legend, label")?.textContent);
  assert.deepEqual(labels, ["Your choice (required)", "Other answer (replaces the choice)", "How often (required)", "Loud"]);
  assert.equal(page.find("elicitation-submit").textContent, "Send Answer");
});

test("a form sends only the filled-in fields", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, FORM_REQUEST);
  await page.press("choice-hi");
  await page.press("choice-Ada");
  await page.press("elicitation-submit");
  assert.deepEqual(page.posted, [
    { type: "fillIn", questionId: "q2", content: { choice: "hi", count: 1, loud: false, names: ["Ada"] } },
  ]);
});

test("cards show their kind, status, locations, diff and terminal", async () => {
  const page = await new TestPage().dispatch(...FULL_CONVERSATION);
  const cards = page.findAll("tool-call").map(({ dataset }) => `${dataset["kind"] ?? ""} ${dataset["status"] ?? ""}`);
  assert.deepEqual(cards, ["read completed", "edit completed", "execute completed", "execute pending"]);
  const [, edit] = page.findAll("tool-call");
  assert.match(edit?.querySelector(".call-head")?.textContent ?? "", /^Edit src\/greeting\.py\+4−3/);
  assert.doesNotMatch(page.find("diff").textContent, /greeting\.py/, "the title names the file");
  assert.match(page.find("terminal").textContent, /12 passed in 0.42s\nexit code 0/);
  await page.press("tool-call-toggle");
  await page.press("tool-call-location");
  assert.deepEqual(page.posted, [{ type: "openFile", path: "/project/src/greeting.py", line: 1 }]);
});

test("what a sub-agent writes is below its call, and not in the conversation", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const chunk = (sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string): ViewEvent => ({
    type: "update",
    update: { sessionUpdate, content: { type: "text", text }, messageId: text, _meta: { parentToolUseId: "task" } },
  });
  await page.dispatch(
    { type: "update", update: { sessionUpdate: "tool_call", toolCallId: "task", title: "Explore", kind: "think", status: "in_progress" } },
    chunk("agent_thought_chunk", "Where is it?"),
    chunk("agent_message_chunk", "It is in main.py."),
  );
  assert.equal(page.findAll("agent-message").length, 0);
  await page.press("tool-call-toggle");
  const card = page.find("tool-call");
  assert.ok(card.contains(page.find("thought")) && card.contains(page.find("agent-message")));
  assert.match(card.textContent, /Where is it\?.*It is in main\.py\./s);
});

test("changes are kept and reverted per file and per hunk", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  await page.press("changes-toggle");
  const [, added] = page.findAll("changed-file-toggle");
  assert.match(added?.textContent ?? "", /added\+1$/); // a count of zero is left out
  await page.press("keep-file");
  await page.press("changed-file-toggle");
  await page.press("revert-hunk");
  const path = "/project/src/greeting.py";
  const [first, second] = page.posted;
  assert.deepEqual(first, { type: "keep", path, hunkId: "" });
  assert.ok(second?.type === "revert" && second.path === path && second.hunkId !== "");
});

test("a queued prompt can be moved back to the input", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, QUEUED_PROMPT);
  await page.press("unqueue");
  assert.deepEqual(page.posted, [{ type: "unqueue", id: "q1" }]);
});

test("sessions are searched, opened, renamed, forked and deleted", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  await page.press("header-sessions");
  await page.write(page.find("session-search"), "BUILD");
  assert.equal(page.findAll("session").length, 1);
  await page.press("session-delete");
  await page.press("session-rename");
  const input = page.find("session-title-input") as HTMLInputElement;
  input.value = "Slow build";
  await page.key(input, "Enter");
  await page.press("session-open");
  assert.deepEqual(page.posted, [
    { type: "listSessions" },
    { type: "deleteSession", id: "s2" },
    { type: "renameSession", id: "s2", title: "Slow build" },
    { type: "openSession", id: "s2" },
  ]);
  assert.equal(page.findAll("session-list").length, 0);
});

test("the context panel shows instruction files, also from subdirectories, and skills", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION);
  await page.press("header-context");
  const shown = [...page.findAll("context-instruction"), ...page.findAll("context-skill")];
  assert.deepEqual(
    shown.map((each) => each.textContent.trim()),
    ["AGENTS.md loaded", "src/AGENTS.md loaded for a subdirectory", "code-review bundled"],
  );
});

for (const [status, testId, intent] of [
  ["untrusted", "welcome-manageTrust", "manageTrust"],
  ["noFolder", "welcome-openFolder", "openFolder"],
  ["missing", "welcome-openSettings", "openSettings"],
  ["failed", "welcome-restart", "restart"],
  ["failed", "welcome-openSettings", "openSettings"],
] as const) {
  test(`a connection that is ${status} leads to ${intent}`, async () => {
    const page = await new TestPage().dispatch({ ...READY, status, message: "why" });
    await page.press(testId);
    assert.deepEqual(page.posted, [intent === "openSettings" ? { type: intent, reason: status === "failed" ? "why" : "" } : { type: intent }]);
  });
}

for (const [testId, intent] of [
  ["welcome-installServer", "installServer"],
  ["welcome-tryDemo", "tryDemo"],
] as const) {
  test(`without a server there is a button to ${intent}`, async () => {
    const page = await new TestPage().dispatch({ ...READY, status: "missing", message: "why" });
    assert.match(page.root.textContent, /uv tool install hermes-acp-server/);
    await page.press(testId);
    assert.deepEqual(page.posted, [{ type: intent }]);
  });
}

test("the welcome offers the sign-in methods, terminal methods first", async () => {
  const page = await new TestPage().dispatch(READY, { type: "signIn", isNeeded: true, message: "there is no key yet" });
  assert.match(page.find("welcome-sign-in").textContent, /there is no key yetEnter an API KeySign in from a terminalTry the Demo/);
  await page.press("sign-in-setup");
  assert.deepEqual(page.posted, [{ type: "signIn", methodId: "setup" }]);
});

test("a suggestion is inserted into the input", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const [, suggestion] = [...page.root.querySelectorAll<HTMLElement>(".suggestion")];
  suggestion?.click();
  await page.dispatch();
  assert.match((page.find("composer-input") as HTMLTextAreaElement).value, /no test covers/);
});

test("a failed turn says why", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, ...CONVERSATION, TURN_FAILED);
  assert.equal(page.find("ending").textContent, "The endpoint is down.");
});

test("archived sessions are listed apart, and each session has its folder if there are several", async () => {
  const session = (id: string, cwd: string, isArchived: boolean): SessionSummary => ({
    ...{ id, title: id, cwd, updatedAt: "", isRunning: false, openQuestions: 0, isArchived, agent: "Hermes", canFork: true, canDelete: true },
  });
  const sessions = [session("one", "/a/first", false), session("two", "/a/second", false), session("old", "/a/first", true)];
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "sessions", sessions });
  await page.press("header-sessions");
  const titles = (): (string | undefined)[] => page.findAll("session").map((row) => row.dataset["sessionId"]);
  assert.deepEqual(titles(), ["one", "two"]);
  assert.deepEqual(page.findAll("session-folder").map((folder) => folder.textContent), ["first", "second"]);
  await page.press("session-archive");
  await page.press("session-archive-toggle");
  assert.deepEqual(titles(), ["old"]);
  await page.press("session-archive");
  await page.press("session-tab");
  const posted = page.posted.filter(({ type }) => type !== "listSessions");
  assert.deepEqual(posted, [
    { type: "archiveSession", id: "one", isArchived: true },
    { type: "archiveSession", id: "old", isArchived: false },
    { type: "openInTab", id: "old" },
  ]);
});

