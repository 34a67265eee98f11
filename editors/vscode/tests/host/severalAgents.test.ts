/** Sessions of several agents in one window, each with a process of its own. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { AgentChoice } from "../../src/host/agentChoice.js";
import { agentIdOf } from "../../src/host/agentIds.js";
import { AGENT_NAME } from "../../src/host/connection.js";
import { FakeAgent, INITIALIZE_RESPONSE } from "../support/agent.js";
import { SERVER_COMMAND, TestWindow } from "../support/testWindow.js";

const GEMINI: AgentChoice = { id: "gemini/cli", name: "Gemini CLI", command: "/bin/gemini", arguments: [], environment: {} };
const GEMINI_SESSION = "agent:gemini%2Fcli/session-1";
let window: TestWindow;
let gemini: FakeAgent;

beforeEach(() => {
  window = new TestWindow();
  gemini = new FakeAgent();
  gemini.sessions = [];
  const agentCapabilities = { ...INITIALIZE_RESPONSE.agentCapabilities, sessionCapabilities: { delete: {} } };
  gemini.initializeResponse = { ...INITIALIZE_RESPONSE, agentInfo: { name: "gemini-cli", version: "1" }, agentCapabilities };
  window.agents.set(GEMINI.command, gemini);
});

afterEach(() => {
  window.close();
});

/** Choose an agent, and wait for its session. */
async function choose(choice: AgentChoice | null, sessionId: string): Promise<void> {
  window.choice = choice;
  await window.handle({ type: "switchAgent" });
  await window.until((view) => view.session.id === sessionId && view.connection.status === "ready");
}

const sessionIdsOf = (agent: FakeAgent, method: string): unknown[] => agent.paramsOf(method).map((params) => (params as { sessionId: string }).sessionId);

test("two agents answer at once, each in its own sessions, although both use the same ids", async () => {
  await window.connect();
  await choose(GEMINI, GEMINI_SESSION);
  let finish: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => (finish = resolve));
  gemini.turn = async ({ say }) => {
    await say("from gemini");
    await waiting;
    return { stopReason: "end_turn" };
  };
  window.agent.turn = async ({ say }) => {
    await say("from hermes");
    return { stopReason: "end_turn" };
  };
  const running = window.prompt("to gemini");
  await window.until(({ session }) => session.items.length === 2);
  await window.handle({ type: "openSession", id: "session-1" });
  assert.deepEqual([window.view.connection.agent, window.view.session.isRunning], ["Fake Agent", false]);
  await window.prompt("to hermes");
  const textsIn = (sessionId: string): string => JSON.stringify(window.controller.viewPublisher.eventsOf(sessionId));
  assert.match(textsIn("session-1"), /from hermes/);
  assert.doesNotMatch(textsIn("session-1"), /from gemini/);
  assert.match(textsIn(GEMINI_SESSION), /from gemini/);
  finish();
  await running;
  assert.deepEqual([sessionIdsOf(gemini, "session/prompt"), sessionIdsOf(window.agent, "session/prompt")], [["session-1"], ["session-1"]]);
  const listed = window.view.sessions.map(({ id, agent, title }) => [id, agent, title]);
  assert.deepEqual(listed.filter(([id]) => id === GEMINI_SESSION), [[GEMINI_SESSION, "Gemini CLI", "to gemini"]]);
  assert.equal(window.starts, 2);
});

test("requests of a session go to its agent: mode, stop, rename, fork and delete", async () => {
  await window.connect();
  await choose(GEMINI, GEMINI_SESSION);
  await window.handle({ type: "setMode", modeId: "plan" });
  gemini.turn = async ({ cancelled }) => {
    await cancelled;
    return { stopReason: "cancelled" };
  };
  const running = window.prompt("go");
  await window.until(({ session }) => session.isRunning);
  await window.handle({ type: "stop" });
  await running;
  const offers = window.view.sessions.map(({ agent, canDelete, canFork }) => [agent, canDelete, canFork]);
  assert.deepEqual(offers, [["Fake Agent", true, false], ["Gemini CLI", true, false]]);
  await window.handle({ type: "renameSession", id: GEMINI_SESSION, title: "Mine" });
  await window.until(({ session }) => session.title === "Mine");
  await window.handle({ type: "deleteSession", id: GEMINI_SESSION });
  await window.until(({ session }) => session.id === "agent:gemini%2Fcli/session-2");
  for (const method of ["session/set_mode", "session/cancel", "session/delete"]) {
    assert.deepEqual([sessionIdsOf(gemini, method), sessionIdsOf(window.agent, method)], [["session-1"], []], method);
  }
});

test("after a reload each session comes back from its own agent, and the list has those of agents that do not run", async () => {
  await window.connect();
  await choose(GEMINI, GEMINI_SESSION);
  await window.prompt("to gemini");
  await choose(null, "session-2");
  const later = new TestWindow(window);
  try {
    await later.connect();
    assert.deepEqual(later.started.map(({ command }) => command), ["/bin/acp-server"]);
    const listed = later.view.sessions.find(({ id }) => id === GEMINI_SESSION);
    assert.deepEqual([listed?.title, listed?.agent, listed?.canDelete], ["to gemini", "Gemini CLI", false]);
    await later.handle({ type: "openSession", id: GEMINI_SESSION });
    await later.until(({ session, connection }) => session.id === GEMINI_SESSION && !session.isLoading && connection.status === "ready");
    assert.deepEqual([sessionIdsOf(gemini, "session/load"), later.view.connection.agent], [["session-1"], "Gemini CLI"]);
    const last = new TestWindow(later);
    await last.connect();
    assert.deepEqual([last.view.session.id, last.started.map(({ command }) => command)], [GEMINI_SESSION, ["/bin/gemini"]]);
    last.close();
  } finally {
    later.close();
  }
});

test("an agent that crashes is restarted alone, and only its questions are cancelled", async () => {
  await window.connect();
  await choose(GEMINI, GEMINI_SESSION);
  const ask: FakeAgent["turn"] = async ({ client, sessionId }) => {
    const options = [{ optionId: "once", name: "Allow once", kind: "allow_once" as const }];
    await client.request("session/request_permission", { sessionId, toolCall: { toolCallId: "c" }, options });
    return { stopReason: "end_turn" };
  };
  gemini.turn = window.agent.turn = ask;
  const lost = window.prompt("ask");
  await window.until(({ session }) => session.questions.length === 1);
  assert.equal(window.states.at(-1)?.askingAgent, "Gemini CLI");
  await window.handle({ type: "openSession", id: "session-1" });
  const kept = window.prompt("ask");
  await window.until(({ session }) => session.questions.length === 1);
  window.crash("it fell over", GEMINI.command);
  await lost;
  await window.until(() => window.starts === 3);
  assert.deepEqual([window.view.connection.status, window.view.session.isRunning, window.view.session.questions.length], ["ready", true, 1]);
  assert.deepEqual([window.states.at(-1)?.openQuestions, window.states.at(-1)?.askingAgent], [1, ""]);
  await window.handle({ type: "permit", questionId: window.view.session.questions[0]?.id ?? "", optionId: "once", reason: "" });
  await kept;
  await window.handle({ type: "openSession", id: GEMINI_SESSION });
  await window.until(({ session }) => session.id === GEMINI_SESSION && !session.isLoading && window.controller.sessions.find(GEMINI_SESSION)?.isRunning === false);
  assert.deepEqual(sessionIdsOf(gemini, "session/load"), ["session-1"]);
});

test("new sessions are of the agent that was chosen last", async () => {
  await window.connect();
  await choose(GEMINI, GEMINI_SESSION);
  await window.handle({ type: "openSession", id: "session-1" });
  await window.handle({ type: "newSession" });
  assert.equal(window.view.session.id, "agent:gemini%2Fcli/session-2");
  assert.equal(agentIdOf(window.view.session.id), "gemini/cli");
  window.choice = undefined;
  await window.handle({ type: "switchAgent" });
  assert.equal(window.view.session.id, "agent:gemini%2Fcli/session-2", "the choice was dismissed");
});

test("of an agent that was uninstalled, the sessions stay listed, and the own server answers new ones", async () => {
  await window.connect();
  await choose(GEMINI, GEMINI_SESSION);
  await window.prompt("to gemini");
  window.agents.delete(GEMINI.command);
  const later = new TestWindow(window);
  void later.handle({ type: "ready", session: "" });
  const { connection } = await later.until((view) => view.connection.status === "missing");
  assert.deepEqual([connection.agentId, connection.agent, connection.message], ["gemini/cli", "Gemini CLI", "Gemini CLI is gone"]);
  assert.equal(later.states.at(-1)?.status, "missing");
  await later.handle({ type: "newSession" });
  await later.until((view) => view.session.id === "session-1" && view.connection.status === "ready");
  assert.deepEqual(later.view.sessions.map(({ id }) => id).sort(), [GEMINI_SESSION, "earlier"]);
  later.close();
});

test("a chosen agent that cannot be started leaves the view to the own server", async () => {
  await window.connect();
  window.choice = { ...GEMINI, id: "gone", name: "Gone", command: "/bin/gone" };
  await window.handle({ type: "switchAgent" });
  await window.until((view) => view.session.id === "session-2" && view.connection.status === "ready");
  assert.match(window.editorWindow.actions.at(-1) ?? "", /Gone cannot be started, so the Hermes Agent answers: Gone is gone/);
  await window.handle({ type: "newSession" });
  assert.equal(window.view.session.id, "session-3");
});

test("an agent that is chosen with another command is started again with it", async () => {
  await window.connect();
  await choose(GEMINI, GEMINI_SESSION);
  await choose({ ...GEMINI, environment: { MODE: "x" } }, "agent:gemini%2Fcli/session-2");
  assert.deepEqual(window.started.map(({ environment }) => environment), [{}, {}, { MODE: "x" }]);
});

test("an agent that needs a sign-in says so only where it is shown", async () => {
  await window.connect();
  gemini.needsSignIn = true;
  window.choice = GEMINI;
  await window.handle({ type: "switchAgent" });
  await window.until((view) => view.signIn.isNeeded && view.connection.agent === "Gemini CLI" && view.connection.status === "ready");
  await window.handle({ type: "openSession", id: "session-1" });
  assert.equal(window.view.signIn.isNeeded, false);
  window.choice = GEMINI;
  await window.handle({ type: "switchAgent" }).catch(() => undefined);
});

test("instructions and skills are asked of our own server's program, and never of another agent's", async () => {
  window.agent.initializeResponse = { ...INITIALIZE_RESPONSE, agentInfo: { name: AGENT_NAME, version: "1" } };
  await window.connect();
  await window.handle({ type: "refreshContext" });
  await window.until(({ context }) => context.status === "known");
  const { command } = SERVER_COMMAND;
  const asked = [`${command} context list --json --cwd /project`, `${command} skills list --json --cwd /project`];
  assert.deepEqual(window.commandLines, asked);
  await choose(GEMINI, GEMINI_SESSION);
  await window.handle({ type: "refreshContext" });
  await window.until(({ context }) => context.message === "Only the Hermes Agent shows this.");
  assert.deepEqual(window.commandLines, asked);
});
