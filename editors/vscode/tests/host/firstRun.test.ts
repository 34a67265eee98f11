/** The first run: no server, no key, and questions of sessions that are not shown. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { methods, RequestError } from "@agentclientprotocol/sdk";
import { ServerMissingError } from "../../src/host/serverLocator.js";
import { INITIALIZE_RESPONSE } from "../support/agent.js";
import { SERVER_COMMAND, TestWindow } from "../support/testWindow.js";

let window = new TestWindow();

afterEach(() => {
  window.close();
  window = new TestWindow();
});

function asOurServer(): void {
  window.agent.initializeResponse = {
    ...INITIALIZE_RESPONSE,
    agentInfo: { name: "hermes-acp-server", version: "1" },
  };
}

test("a missing server is installed with uv in a terminal, and starts", async () => {
  window.locateServer = () => Promise.reject(new ServerMissingError("none"));
  void window.handle({ type: "ready", session: "" });
  await window.until((view) => view.connection.status === "missing");
  window.uv = null;
  await window.handle({ type: "installServer" });
  assert.match(window.editorWindow.actions.at(-1) ?? "", /uv was not found/);
  window.uv = "/bin/uv";
  window.editorWindow.exitCode = 1;
  await window.handle({ type: "installServer" });
  assert.match(window.editorWindow.actions.at(-1) ?? "", /was not installed/);
  window.editorWindow.exitCode = 0;
  window.locateServer = () => Promise.resolve(SERVER_COMMAND);
  await window.handle({ type: "installServer" });
  assert.deepEqual(window.editorWindow.ranCommand?.arguments, ["tool", "install", "hermes-acp-server"]);
  await window.until((view) => view.connection.status === "ready");
});

test("our server without a key leads to one sign-in card at once; the key is stored by the server", async () => {
  asOurServer();
  window.agent.authenticate = () => Promise.reject(RequestError.authRequired({ message: "no API key was found" }));
  await window.connect();
  const view = await window.until((each) => each.signIn.isNeeded);
  assert.deepEqual([view.signIn.message, view.connection.canStoreKey, view.session.items], ["", true, []]);
  await window.handle({ type: "enterKey" });
  assert.deepEqual(window.storedKeys, []);
  window.agent.authenticate = () => Promise.resolve({});
  window.editorWindow.secret = " sk-1 ";
  await window.handle({ type: "enterKey" });
  assert.deepEqual(window.storedKeys, ["anthropic sk-1"]);
  await window.until((each) => !each.signIn.isNeeded && each.connection.status === "ready");
});

test("a prompt without a key says why once", async () => {
  asOurServer();
  window.agent.authenticate = () => Promise.resolve({});
  await window.connect();
  window.agent.turn = async ({ say }) => {
    await say("no API key was found");
    throw RequestError.authRequired({ message: "no API key was found" });
  };
  await window.prompt("hello");
  const view = await window.until((each) => each.signIn.isNeeded && !each.session.isRunning);
  assert.deepEqual([view.signIn.message, view.session.items.map(({ kind }) => kind)], ["", ["user", "agent"]]);
});

test("the demo runs the server with its scripted model", async () => {
  asOurServer();
  await window.connect();
  await window.handle({ type: "tryDemo" });
  await window.until((view) => view.connection.status === "ready" && window.started.length === 2);
  assert.deepEqual(window.started.map(({ serveArguments }) => serveArguments), [["serve"], ["serve", "--model", "scripted:demo"]]);
});

test("a question of a session that is not shown is counted, named and found", async () => {
  await window.connect();
  const asking = window.view.session.id;
  window.agent.turn = async ({ client, sessionId }) => {
    await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId: "c1", title: "Edit a" },
      options: [{ optionId: "no", name: "Reject", kind: "reject_once" }],
    });
    return { stopReason: "end_turn" };
  };
  window.controller.sessions.rename(asking, "Slow build");
  const turn = window.prompt("go");
  await window.until((view) => view.session.questions.length === 1);
  await window.handle({ type: "newSession" });
  const { sessions } = await window.until((view) => view.session.id !== asking);
  assert.deepEqual(sessions.filter(({ openQuestions }) => openQuestions > 0).map(({ id }) => id), [asking]);
  window.controller.reportEditorState();
  await window.controller.questionAnnouncer.show();
  const { session, request } = await window.until((view) => view.session.id === asking && view.request.number > 0);
  assert.equal(request.action, "focusQuestion");
  await window.handle({ type: "permit", questionId: session.questions[0]?.id ?? "", optionId: "no", reason: "use b" });
  await turn;
  assert.deepEqual(window.agent.paramsOf("_session/steering").length, 1);
});

test("a renderer's script is sent when the view asks for it", async () => {
  await window.handle({ type: "loadScript", name: "math" });
  assert.deepEqual(window.scripts, [["math", "script of math"]]);
});

test("files are attached by their URIs; other addresses are not", async () => {
  await window.handle({ type: "attachUris", uris: ["file:///project/a%20b.py", "https://x.test/", "nonsense"] });
  const { attached } = await window.until((view) => view.attached.number === 1);
  assert.deepEqual(attached.choices.map(({ mention }) => mention.path), ["/project/a b.py"]);
});

test("a failed intent shows a message", async () => {
  await window.handle({ type: "forkSession", id: "session-1" });
  assert.deepEqual(window.editorWindow.actions, ["warn The server is not running."]);
});
