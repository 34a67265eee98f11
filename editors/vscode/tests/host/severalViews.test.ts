/** Several views with sessions of their own, the sessions of several folders, and archived sessions. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import type { HostMessage } from "../../src/shared/events.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../../src/shared/state.js";
import { TestWindow } from "../support/testWindow.js";

const TAB = "tab";
let window = new TestWindow();

afterEach(() => {
  window.close();
  window = new TestWindow();
});

/** Attach an editor tab; return a function that returns its state. */
function attachTab(sessionId = ""): () => ViewState {
  let state = EMPTY_VIEW;
  const { viewPublisher } = window.controller;
  viewPublisher.open(TAB, sessionId);
  viewPublisher.attach((message: HostMessage) => {
    if (message.kind !== "script") state = reduceAll(message.kind === "replay" ? EMPTY_VIEW : state, message.events);
    window.check();
  }, TAB);
  return () => state;
}

const draft = (text: string): { text: string; images: []; mentions: []; withSelection: false; withFile: false; withProblems: false } => ({
  ...{ text, images: [], mentions: [] },
  ...{ withSelection: false, withFile: false, withProblems: false },
});
const textsOf = ({ session }: ViewState): string[] =>
  session.items.flatMap((item) => (item.kind === "user" ? item.blocks.map((block) => (block.type === "text" ? block.text : "")) : []));

test("a tab has a session of its own, and both views show only their own events", async () => {
  await window.connect();
  const tab = attachTab();
  await window.controller.handle({ type: "ready", session: "" }, TAB);
  assert.deepEqual([window.view.session.id, tab().session.id], ["session-1", "session-2"]);
  await window.controller.handle({ type: "send", draft: draft("in the tab"), busyMode: "turn" }, TAB);
  await window.controller.handle({ type: "send", draft: draft("in the side bar"), busyMode: "turn" }, "acpServer.chat");
  await window.until((view) => textsOf(view).length === 1 && textsOf(tab()).length === 1);
  assert.deepEqual([textsOf(window.view), textsOf(tab())], [["in the side bar"], ["in the tab"]]);
});

test("an action of a view applies to that view, although another one was used meanwhile", async () => {
  await window.connect();
  const tab = attachTab();
  await window.controller.handle({ type: "ready", session: "" }, TAB);
  const created = window.controller.handle({ type: "newSession" }, TAB);
  window.controller.viewPublisher.activate("acpServer.chat");
  await created;
  assert.deepEqual([window.view.session.id, tab().session.id], ["session-1", "session-3"]);
  await window.controller.handle({ type: "findMentions", query: "a" }, TAB);
  await window.until(() => tab().mentions.query === "a");
  assert.equal(window.view.mentions.query, "");
});

test("a restored tab gets its session again, before and after the server has started", async () => {
  const tab = attachTab("earlier");
  await window.connect();
  await window.until(() => tab().session.id === "earlier" && !tab().session.isLoading);
  assert.equal(window.view.session.id, "session-1");
  window.crash("it fell over");
  await window.until((view) => view.connection.status === "ready" && window.starts === 2);
  assert.deepEqual([tab().session.id, window.view.session.id], ["earlier", "session-1"]);
});

test("a session that two views show is the same in both, and deleting it empties both", async () => {
  await window.connect();
  const tab = attachTab("session-1");
  await window.controller.handle({ type: "ready", session: "session-1" }, TAB);
  await window.prompt("hello");
  await window.until((view) => textsOf(view).length === 1 && textsOf(tab()).length === 1);
  assert.deepEqual(window.agent.paramsOf("session/load"), []);
  await window.handle({ type: "deleteSession", id: "session-1" });
  assert.deepEqual([window.view.session.id, tab().session.id].sort(), ["session-2", "session-3"]);
});

test("a question of a session that a tab shows leads to the tab", async () => {
  await window.connect();
  const tab = attachTab();
  await window.controller.handle({ type: "ready", session: "" }, TAB);
  window.agent.turn = async ({ client, sessionId }) => {
    const toolCall = { toolCallId: "c1", title: "Edit a" };
    await client.request("session/request_permission", { sessionId, toolCall, options: [{ optionId: "once", name: "Allow once", kind: "allow_once" }] });
    return { stopReason: "end_turn" };
  };
  const done = window.controller.handle({ type: "send", draft: draft("go"), busyMode: "turn" }, TAB);
  await window.until(() => tab().session.questions.length === 1);
  window.controller.viewPublisher.activate("acpServer.chat");
  assert.equal(window.states.at(-1)?.askingTitle, "");
  await window.controller.questionAnnouncer.show();
  assert.equal(window.controller.viewPublisher.activeId, TAB);
  assert.equal(window.view.session.id, "session-1");
  await window.controller.handle({ type: "permit", questionId: tab().session.questions[0]?.id ?? "", optionId: "once", reason: "" }, TAB);
  await done;
});

test("a closed tab is forgotten, and the side bar is used again", async () => {
  await window.connect();
  attachTab();
  await window.controller.handle({ type: "ready", session: "" }, TAB);
  const { viewPublisher } = window.controller;
  viewPublisher.close(TAB);
  assert.deepEqual([viewPublisher.viewIds, viewPublisher.shownSessionId], [["acpServer.chat"], "session-1"]);
});

test("the sessions of all workspace folders are listed, and loaded in their folder", async () => {
  window.agent.sessions = [
    { sessionId: "one", cwd: "/project", title: "One", updatedAt: "2026-01-02T00:00:00Z" },
    { sessionId: "two", cwd: "/other", title: "Two", updatedAt: "2026-01-03T00:00:00Z" },
  ];
  await window.connect();
  assert.deepEqual(window.view.sessions.map(({ id, cwd }) => [id, cwd]), [["two", "/other"], ["one", "/project"]]);
  await window.handle({ type: "openSession", id: "two" });
  const place = { cwd: "/other", additionalDirectories: ["/project"], mcpServers: [] };
  assert.deepEqual(window.agent.paramsOf("session/load"), [{ sessionId: "two", ...place }]);
  await window.handle({ type: "newSession" });
  assert.deepEqual(window.agent.paramsOf("session/new").at(-1), place, "not in the folder of the shown session");
  await window.handle({ type: "openSession", id: "one" });
  window.editorWindow.current = { ...window.editorWindow.current, file: "/other/a.py" };
  await window.handle({ type: "newSession" });
  assert.deepEqual(window.agent.paramsOf("session/new").at(-1), place);
});

test("an archived session is marked, also in the next window, until it is taken out again", async () => {
  await window.connect();
  const isArchived = (of: TestWindow): boolean | undefined => of.view.sessions.find(({ id }) => id === "earlier")?.isArchived;
  await window.handle({ type: "archiveSession", id: "earlier", isArchived: true });
  await window.until(() => isArchived(window) === true);
  const later = new TestWindow(window);
  await later.connect();
  assert.equal(isArchived(later), true);
  await later.handle({ type: "archiveSession", id: "earlier", isArchived: false });
  await later.until(() => isArchived(later) === false);
  later.close();
});

test("an agent that wants a sign-in before the first session is not restarted, and gets its session after it", async () => {
  window.agent.needsSignIn = true;
  void window.handle({ type: "ready", session: "" });
  await window.until((view) => view.connection.status === "ready" && view.signIn.isNeeded);
  assert.deepEqual([window.starts, window.view.session.id], [1, ""]);
  await window.handle({ type: "signIn", methodId: "key" });
  await window.until((view) => view.session.id === "session-1" && !view.signIn.isNeeded);
});

test("sessions get the editor's MCP servers", async () => {
  const server = { name: "files", command: "npx", args: [], env: [] };
  window.mcpServers = [server];
  await window.connect();
  await window.handle({ type: "openSession", id: "earlier" });
  const passed = [...window.agent.paramsOf("session/new"), ...window.agent.paramsOf("session/load")] as { mcpServers: unknown }[];
  assert.deepEqual(passed.map(({ mcpServers }) => mcpServers), [[server], [server]]);
});

test("the status bar is told the mode, the model and the cost of the shown session", async () => {
  await window.connect();
  window.agent.turn = async ({ show }) => {
    await show({ sessionUpdate: "usage_update", used: 1, size: 10, cost: { amount: 0.123, currency: "USD" } });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  assert.deepEqual(window.states.at(-1)?.session, [["Mode", "Ask"], ["Cost", "0.12 USD"]]);
  const options = [{ group: "g", name: "G", options: [{ value: "b", name: "B" }] }];
  const model: SessionConfigOption = { id: "model", name: "Model", type: "select", category: "model", currentValue: "b", options };
  window.controller.viewPublisher.record("session-1", { type: "update", update: { sessionUpdate: "config_option_update", configOptions: [model] } });
  await window.handle({ type: "listSessions" });
  assert.deepEqual(window.states.at(-1)?.session, [["Model", "B"], ["Cost", "0.12 USD"]]);
});
