/** State that survives a reload of the window and a restart of the server. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import { hunksBetween } from "../../src/shared/hunks.js";
import { TestWindow } from "../support/testWindow.js";

const FILE = "/project/a.py";
const OLD = "one\ntwo\nthree\nfour\n";
const NEW = "1\ntwo\nthree\n4\n";

const windows: TestWindow[] = [];

function openWindow(earlier?: TestWindow): TestWindow {
  const window = new TestWindow(earlier);
  windows.push(window);
  return window;
}

afterEach(() => {
  for (const window of windows.splice(0)) window.close();
});

function user(text: string, messageId: string): SessionUpdate {
  return { sessionUpdate: "user_message_chunk", messageId, content: { type: "text", text } };
}

function agent(text: string, messageId: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } };
}

/** Return a window in which the agent has written a file. */
async function windowWithChange(): Promise<TestWindow> {
  const window = await openWindow().connect();
  window.files.disk.set(FILE, OLD);
  window.agent.turn = async ({ client, sessionId }) => {
    await client.request(methods.client.fs.writeTextFile, { sessionId, path: FILE, content: NEW });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  await window.until((view) => view.session.changes.length === 1);
  return window;
}

async function reload(window: TestWindow): Promise<TestWindow> {
  window.close();
  const later = await openWindow(window).connect();
  await later.until((view) => !view.session.isLoading);
  return later;
}

test("after a reload, a change is restored and can be reverted per hunk and per file", async () => {
  const window = await reload(await windowWithChange());
  const { session } = await window.until((view) => view.session.changes.length === 1);
  const [file] = session.changes;
  assert.deepEqual([file?.label, file?.added, file?.removed], ["a.py", 2, 2]);
  await window.handle({ type: "revert", path: FILE, hunkId: file?.hunks[1]?.id ?? "" });
  assert.equal(window.files.disk.get(FILE), NEW.replace("4", "four"));
  const again = await reload(window);
  await again.until((view) => view.session.changes[0]?.hunks.length === 1);
  await again.handle({ type: "revert", path: FILE, hunkId: "" });
  assert.equal(again.files.disk.get(FILE), OLD);
  assert.deepEqual([again.editorWindow.actions, [...again.textStore.texts]], [[], []]);
});

test("changes kept before a reload do not come back", async () => {
  const window = await windowWithChange();
  await window.handle({ type: "keepAll" });
  const later = await reload(window);
  await later.prompt("go on");
  assert.deepEqual([later.view.session.changes, [...later.textStore.texts]], [[], []]);
});

test("a file changed between two windows is reverted only after confirmation", async () => {
  const window = await windowWithChange();
  window.files.disk.set(FILE, "mine\n");
  const later = await reload(window);
  await later.until((view) => view.session.changes.length === 1);
  later.editorWindow.agrees = false;
  await later.handle({ type: "revert", path: FILE, hunkId: "" });
  assert.equal(later.files.disk.get(FILE), "mine\n");
});

test("after the server stops unexpectedly, the changes remain and can be reverted", async () => {
  const window = await windowWithChange();
  window.crash("it fell over");
  await window.until((view) => view.connection.status === "ready" && window.starts === 2);
  await window.until((view) => view.session.changes.length === 1);
  await window.handle({ type: "revertAll" });
  assert.equal(window.files.disk.get(FILE), OLD);
});

test("deleting a session deletes its review and its turn ends", async () => {
  const window = await windowWithChange();
  await window.handle({ type: "deleteSession", id: "session-1" });
  assert.deepEqual([[...window.textStore.texts], window.workspaceState.get("endings")], [[], undefined]);
});

function entryKinds(window: TestWindow): string[] {
  return window.view.session.items.map((item) => {
    if (item.kind === "user" || item.kind === "agent") return item.kind;
    return item.kind === "ending" ? item.reason : item.kind;
  });
}

/** Return a window whose turn runs until it is cancelled. */
async function windowWithRunningTurn(): Promise<TestWindow> {
  const window = await openWindow().connect();
  window.agent.turn = ({ cancelled }) => cancelled.then(() => ({ stopReason: "cancelled" }));
  void window.prompt("go");
  await window.until((view) => view.session.isRunning);
  return window;
}

test("a turn interrupted by a reload is marked, also after later turns", async () => {
  const first = await windowWithRunningTurn();
  first.close();
  const second = openWindow(first);
  second.agent.history = [user("go", "u1"), agent("half", "a1")];
  await second.connect();
  await second.until((view) => view.session.items.some((item) => item.kind === "ending"));
  assert.deepEqual(entryKinds(second), ["user", "agent", "cut"]);
  await second.prompt("and on");
  assert.equal(second.view.session.isRunning, false);
  second.close();
  const third = openWindow(second);
  third.agent.history = [user("go", "u1"), agent("half", "a1"), user("and on", "u2"), agent("whole", "a2")];
  await third.connect();
  await third.until((view) => view.session.items.some((item) => item.kind === "ending"));
  assert.deepEqual(entryKinds(third), ["user", "agent", "cut", "user", "agent"]);
});

test("a turn interrupted by the server's exit is marked where it stopped", async () => {
  const window = await windowWithRunningTurn();
  window.agent.history = [user("go", "u1"), agent("half", "a1")];
  window.crash("it fell over");
  await window.until(() => entryKinds(window).includes("notice"));
  assert.deepEqual(entryKinds(window), ["user", "agent", "cut", "notice"]);
});

test("after a reload, a stopped turn is marked and a completed one is not", async () => {
  const window = await windowWithRunningTurn();
  await window.handle({ type: "stop" });
  await window.until((view) => !view.session.isRunning);
  window.agent.turn = () => Promise.resolve({ stopReason: "end_turn" });
  await window.prompt("again");
  window.close();
  const later = openWindow(window);
  later.agent.history = [user("go", "u1"), user("again", "u2")];
  await later.connect();
  await later.until(() => entryKinds(later).length === 3);
  assert.deepEqual(entryKinds(later), ["user", "cancelled", "user"]);
});

test("the mark moves after prompts that were sent during the turn", async () => {
  const window = await windowWithRunningTurn();
  await window.prompt("not that", "steer");
  window.close();
  const later = openWindow(window);
  later.agent.history = [user("go", "u1"), user("not that", "u2")];
  await later.connect();
  await later.until(() => entryKinds(later).length === 3);
  assert.deepEqual(entryKinds(later), ["user", "user", "cut"]);
});

/** Return a window in which the agent's only turn has shown a form after a tool call, and the user has answered it. */
async function windowWithAnsweredForm(): Promise<TestWindow> {
  const window = await openWindow().connect();
  window.agent.turn = async ({ client, sessionId, show, say }) => {
    await show({ sessionUpdate: "tool_call", toolCallId: "ask", title: "Ask", status: "pending" });
    const requestedSchema = { type: "object", properties: { fruit: { type: "string", title: "Fruit" } } } as const;
    await client.request(methods.client.elicitation.create, { mode: "form", sessionId, message: "Which fruit?", requestedSchema });
    await say("Pears it is.");
    return { stopReason: "end_turn" };
  };
  const done = window.prompt("ask me");
  const { session } = await window.until((view) => view.session.questions.length === 1);
  await window.handle({ type: "fillIn", questionId: session.questions[0]?.id ?? "", content: { fruit: "pears" } });
  await done;
  await window.until(() => entryKinds(window).length === 4);
  return window;
}

const FORM_HISTORY: SessionUpdate[] = [
  user("ask me", "u1"),
  { sessionUpdate: "tool_call", toolCallId: "ask", title: "Ask", status: "completed" },
  agent("Pears it is.", "a1"),
];

test("after a reload, an answer given in a form is where it was given", async () => {
  const window = await windowWithAnsweredForm();
  assert.deepEqual(entryKinds(window), ["user", "call", "answer", "agent"]);
  window.close();
  const later = openWindow(window);
  later.agent.history = FORM_HISTORY;
  await later.connect();
  const { session } = await later.until(() => entryKinds(later).length === 4);
  assert.deepEqual(entryKinds(later), ["user", "call", "answer", "agent"]);
  const [answer] = session.items.filter((item) => item.kind === "answer");
  assert.deepEqual(answer?.answers, [{ label: "Fruit", value: "pears" }]);
  assert.deepEqual(session.questions, []);
  await later.handle({ type: "deleteSession", id: "session-1" });
  assert.equal(later.workspaceState.get("form answers"), undefined);
});

test("after a reload, a call that the user rejected is still known as rejected, and one that was allowed is as the agent tells", async () => {
  const window = await openWindow().connect();
  const options = [
    { optionId: "y", name: "Allow once", kind: "allow_once" as const },
    { optionId: "n", name: "Reject", kind: "reject_once" as const },
  ];
  window.agent.turn = async ({ client, sessionId }) => {
    for (const toolCallId of ["first", "second"]) {
      const content = [{ type: "diff" as const, path: "/a", oldText: "secret", newText: "b" }];
      await client.request(methods.client.session.requestPermission, { sessionId, options, toolCall: { toolCallId, title: "Edit", content } });
    }
    return { stopReason: "end_turn" };
  };
  const done = window.prompt("edit it");
  for (const [optionId, questionId] of [["n", "question-1"], ["y", "question-2"]] as const) {
    await window.until((view) => view.session.questions.some(({ id }) => id === questionId));
    await window.handle({ type: "permit", questionId, optionId, reason: "" });
  }
  await done;
  assert.doesNotMatch(window.workspaceState.get("form answers") ?? "", /secret/);
  window.close();
  const later = openWindow(window);
  const replayed = (toolCallId: string, status: "failed" | "completed"): SessionUpdate => ({ sessionUpdate: "tool_call", toolCallId, title: "Edit", status });
  later.agent.history = [user("edit it", "u1"), replayed("first", "failed"), replayed("second", "completed")];
  await later.connect();
  const { session } = await later.until((view) => view.session.items.length === 3 && !view.session.isLoading);
  const calls = session.items.flatMap((item) => (item.kind === "call" ? [item.call] : []));
  assert.deepEqual(calls.map(({ id, isRejected, decision, status }) => [id, isRejected, decision, status]), [
    ["first", true, "Rejected", "failed"],
    ["second", false, "", "completed"],
  ]);
  assert.deepEqual(session.questions, []);
});

test("after a reload, a call that was allowed in part still says which parts were rejected", async () => {
  const window = await openWindow().connect();
  const diff = { type: "diff" as const, path: "/a", oldText: "one\ntwo\nthree\n", newText: "1\ntwo\n3\n" };
  window.files.disk.set("/a", diff.oldText);
  window.agent.turn = async ({ client, sessionId, show }) => {
    const toolCall = { toolCallId: "c", title: "Edit", kind: "edit" as const, content: [diff] };
    await client.request(methods.client.session.requestPermission, { sessionId, toolCall, options: [{ optionId: "y", name: "Allow", kind: "allow_once" }] });
    await show({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" });
    return { stopReason: "end_turn" };
  };
  const done = window.prompt("edit it");
  await window.until(() => window.display.proposals.size === 1);
  await window.reviews?.proposals.rejectHunk("question-1", "/a", hunksBetween(diff.oldText, diff.newText)[0]?.id ?? "");
  await window.handle({ type: "permit", questionId: "question-1", optionId: "y", reason: "" });
  await done;
  window.close();
  const later = openWindow(window);
  later.agent.history = [user("edit it", "u1"), { sessionUpdate: "tool_call", toolCallId: "c", title: "Edit", status: "completed", content: [diff] }];
  await later.connect();
  const { session } = await later.until((view) => view.session.items.length === 2 && !view.session.isLoading);
  const [call] = session.items.flatMap((item) => (item.kind === "call" ? [item.call] : []));
  assert.deepEqual([call?.decision, call?.isRejected], ["Allowed 1 of 2 parts", false]);
  assert.deepEqual(call?.parts.rejected, [{ diff: 0, oldStart: 0, oldEnd: 1, newStart: 0, newEnd: 1 }]);
});

test("an answer that was taken back with its prompt does not come back", async () => {
  const window = await windowWithAnsweredForm();
  const restore = { type: "restore", checkpoint: "c1", scope: "conversation", text: "", isSentAgain: false } as const;
  const events = window.controller.viewPublisher.eventsOf("session-1");
  const promptId = events.find((event) => event.type === "prompted")?.id ?? "";
  window.controller.viewPublisher.record("session-1", { type: "checkpoint", promptId, checkpoint: "c1" });
  await window.handle(restore);
  await window.until(() => entryKinds(window).length === 0);
  window.close();
  const later = openWindow(window);
  later.agent.history = FORM_HISTORY; // the same prompt, sent again
  await later.connect();
  await later.until(() => entryKinds(later).length >= 3);
  assert.deepEqual(entryKinds(later), ["user", "call", "agent"]);
});

test("saved answers that cannot be read are ignored", async () => {
  const earlier = openWindow();
  earlier.workspaceState.set("form answers", '{"session-1": [{"prompts": 1, "calls": 0, "events": [{"type": "elicitation"}]}]}');
  earlier.workspaceState.set("session", "session-1");
  const window = openWindow(earlier);
  window.agent.history = FORM_HISTORY;
  await window.connect();
  await window.until(() => entryKinds(window).length === 3);
});
