/** What of a window is there again when it is made anew, and when only the server is. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import { Window } from "../support/window.js";

const FILE = "/project/a.py";
const OLD = "one\ntwo\nthree\nfour\n";
const NEW = "1\ntwo\nthree\n4\n";

const windows: Window[] = [];

function opened(earlier?: Window): Window {
  const window = new Window(earlier);
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

/** A window in which the agent has written a file. */
async function changed(): Promise<Window> {
  const window = await opened().begin();
  window.files.disk.set(FILE, OLD);
  window.agent.turn = async ({ client, sessionId }) => {
    await client.request(methods.client.fs.writeTextFile, { sessionId, path: FILE, content: NEW });
    return { stopReason: "end_turn" };
  };
  await window.say("go");
  await window.until((view) => view.session.changes.length === 1);
  return window;
}

async function reloaded(window: Window): Promise<Window> {
  window.close();
  const later = await opened(window).begin();
  await later.until((view) => !view.session.isLoading);
  return later;
}

test("after a reload a change is there with its hunks, and is reverted hunk by hunk and whole", async () => {
  const window = await reloaded(await changed());
  const { session } = await window.until((view) => view.session.changes.length === 1);
  const [file] = session.changes;
  assert.deepEqual([file?.label, file?.added, file?.removed], ["a.py", 2, 2]);
  await window.do({ type: "revert", path: FILE, hunkId: file?.hunks[1]?.id ?? "" });
  assert.equal(window.files.disk.get(FILE), NEW.replace("4", "four"));
  const again = await reloaded(window);
  await again.until((view) => view.session.changes[0]?.hunks.length === 1);
  await again.do({ type: "revert", path: FILE, hunkId: "" });
  assert.equal(again.files.disk.get(FILE), OLD);
  assert.deepEqual([again.desk.done, [...again.drawer.texts]], [[], []]);
});

test("what was kept before a reload is not there behind it", async () => {
  const window = await changed();
  await window.do({ type: "keepAll" });
  const later = await reloaded(window);
  await later.say("go on");
  assert.deepEqual([later.view.session.changes, [...later.drawer.texts]], [[], []]);
});

test("a file that somebody has changed between two windows is reverted only if they agree", async () => {
  const window = await changed();
  window.files.disk.set(FILE, "mine\n");
  const later = await reloaded(window);
  await later.until((view) => view.session.changes.length === 1);
  later.desk.agrees = false;
  await later.do({ type: "revert", path: FILE, hunkId: "" });
  assert.equal(later.files.disk.get(FILE), "mine\n");
});

test("after the server has ended by itself the changes are there, and are reverted", async () => {
  const window = await changed();
  window.crash("it fell over");
  await window.until((view) => view.connection.status === "ready" && window.starts === 2);
  await window.until((view) => view.session.changes.length === 1);
  await window.do({ type: "revertAll" });
  assert.equal(window.files.disk.get(FILE), OLD);
});

test("a session that is deleted takes its review and its marks along", async () => {
  const window = await changed();
  await window.do({ type: "deleteSession", id: "session-1" });
  assert.deepEqual([[...window.drawer.texts], window.memory.get("endings")], [[], undefined]);
});

function shownIn(window: Window): string[] {
  return window.view.session.items.map((item) => {
    if (item.kind === "user" || item.kind === "agent") return item.kind;
    return item.kind === "ending" ? item.reason : item.kind;
  });
}

/** A window whose turn runs until it is cancelled. */
async function working(): Promise<Window> {
  const window = await opened().begin();
  window.agent.turn = ({ cancelled }) => cancelled.then(() => ({ stopReason: "cancelled" }));
  void window.say("go");
  await window.until((view) => view.session.isRunning);
  return window;
}

test("a turn that a reload has cut is marked, and stays so when more was said", async () => {
  const first = await working();
  first.close();
  const second = opened(first);
  second.agent.past = [user("go", "u1"), agent("half", "a1")];
  await second.begin();
  await second.until((view) => view.session.items.some((item) => item.kind === "ending"));
  assert.deepEqual(shownIn(second), ["user", "agent", "cut"]);
  await second.say("and on");
  assert.equal(second.view.session.isRunning, false);
  second.close();
  const third = opened(second);
  third.agent.past = [user("go", "u1"), agent("half", "a1"), user("and on", "u2"), agent("whole", "a2")];
  await third.begin();
  await third.until((view) => view.session.items.some((item) => item.kind === "ending"));
  assert.deepEqual(shownIn(third), ["user", "agent", "cut", "user", "agent"]);
});

test("a turn that the server's end has cut is marked where it was cut", async () => {
  const window = await working();
  window.agent.past = [user("go", "u1"), agent("half", "a1")];
  window.crash("it fell over");
  await window.until(() => shownIn(window).includes("notice"));
  assert.deepEqual(shownIn(window), ["user", "agent", "cut", "notice"]);
});

test("a turn that the user has stopped is marked so behind a reload, one that ended well is not", async () => {
  const window = await working();
  await window.do({ type: "stop" });
  await window.until((view) => !view.session.isRunning);
  window.agent.turn = () => Promise.resolve({ stopReason: "end_turn" });
  await window.say("again");
  window.close();
  const later = opened(window);
  later.agent.past = [user("go", "u1"), user("again", "u2")];
  await later.begin();
  await later.until(() => shownIn(later).length === 3);
  assert.deepEqual(shownIn(later), ["user", "cancelled", "user"]);
});

test("a mark moves behind what was said while the turn ran", async () => {
  const window = await working();
  await window.say("not that", "steer");
  window.close();
  const later = opened(window);
  later.agent.past = [user("go", "u1"), user("not that", "u2")];
  await later.begin();
  await later.until(() => shownIn(later).length === 3);
  assert.deepEqual(shownIn(later), ["user", "user", "cut"]);
});
