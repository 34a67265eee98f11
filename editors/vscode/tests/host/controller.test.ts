import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { methods, RequestError, type RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { INITIALIZE_RESPONSE } from "../support/agent.js";
import { problem } from "../support/fakes.js";
import { TestWindow } from "../support/testWindow.js";

let window = new TestWindow();

async function connect(): Promise<TestWindow> {
  return window.connect();
}

afterEach(() => {
  window.close();
  window = new TestWindow();
});

function permission(sessionId: string): RequestPermissionRequest {
  return {
    sessionId,
    toolCall: { toolCallId: "c1", title: "Edit a" },
    options: [
      { optionId: "once", name: "Allow once", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ],
  };
}

const agentTexts = (): string[] =>
  window.view.session.items.flatMap((item) => (item.kind === "agent" ? [item.text] : []));

test("the host initializes the agent, creates a session in its folders and shows its options", async () => {
  await connect();
  const [greeting] = window.agent.paramsOf("initialize") as { clientCapabilities: unknown }[];
  assert.deepEqual(greeting?.clientCapabilities, {
    fs: { readTextFile: true, writeTextFile: true },
    terminal: true,
    auth: { terminal: true },
    elicitation: { form: {}, url: {} },
    session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
    _meta: { hermes: { symbols: {} }, "subagent-transcript": true },
  });
  const place = { cwd: "/project", additionalDirectories: ["/other"], mcpServers: [] };
  assert.deepEqual(window.agent.paramsOf("session/new"), [place]);
  const { connection, session } = window.view;
  assert.deepEqual([connection.agent, connection.features.steer], ["Fake Agent", true]);
  assert.deepEqual([session.modes?.currentModeId, session.options.length], ["ask", 1]);
});

test("a prompt is shown, its answer streams, and the turn ends after it", async () => {
  await connect();
  window.agent.turn = async ({ say }) => {
    for (let chunk = 0; chunk < 500; chunk += 1) void say("x");
    await say("!");
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  const { session } = await window.until((view) => !view.session.isRunning && agentTexts()[0] !== undefined);
  assert.equal(agentTexts()[0], `${"x".repeat(500)}!`);
  assert.deepEqual(
    session.items.map((item) => item.kind),
    ["user", "agent"],
  );
});

test("a new view shows the same state", async () => {
  await connect();
  window.agent.turn = async ({ say }) => {
    await say("Hello");
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  const { session } = await window.until((view) => view.session.items.length === 2);
  window.attach();
  assert.deepEqual(window.view.session, session);
});

test("stop cancels the turn and its questions, and returns queued prompts", async () => {
  await connect();
  window.agent.turn = async ({ client, sessionId, cancelled }) => {
    const permissionResponse = client.request(
      methods.client.session.requestPermission,
      permission(sessionId),
    );
    await cancelled;
    assert.deepEqual(await permissionResponse, { outcome: { outcome: "cancelled" } });
    return { stopReason: "cancelled" };
  };
  const turn = window.prompt("go");
  await window.until((view) => view.session.questions.length === 1);
  await window.prompt("and then", "queue");
  await window.handle({ type: "stop" });
  await turn;
  const { session } = await window.until((view) => !view.session.isRunning);
  assert.deepEqual([session.queue, session.returnedPrompt.text], [[], "and then"]);
  assert.equal(window.agent.paramsOf("session/prompt").length, 1);
});

test("queued prompts run after the turn, in order", async () => {
  await connect();
  const prompts: string[] = [];
  const gate = deferred();
  window.agent.turn = async ({ prompt }) => {
    const [block] = prompt;
    prompts.push(block?.type === "text" ? block.text : "");
    if (prompts.length === 1) await gate.promise;
    return { stopReason: "end_turn" };
  };
  const turn = window.prompt("one");
  await window.until((view) => view.session.isRunning);
  await window.prompt("two", "queue");
  await window.prompt("three", "queue");
  const queued = await window.until((view) => view.session.queue.length === 2);
  assert.deepEqual(queued.session.queue.map((each) => each.text), ["two", "three"]);
  gate.resolve();
  await turn;
  assert.deepEqual(prompts, ["one", "two", "three"]);
});

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

for (const [outcome, busyMode] of [
  ["injected", "steer"],
  ["failed", undefined],
] as const) {
  test(`a prompt while the agent works is ${outcome}`, async () => {
    await connect();
    window.agent.steering = outcome;
    window.agent.turn = async ({ prompt, cancelled }) => {
      const [block] = prompt;
      if (block?.type === "text" && block.text === "go") await cancelled;
      return { stopReason: "cancelled" };
    };
    const turn = window.prompt("go");
    await window.until((view) => view.session.isRunning);
    await window.prompt("not that", "steer");
    const { session } = await window.until(
      ({ session: { queue, items } }) => queue.length + items.length === 2,
    );
    const last = session.items.at(-1);
    assert.equal(last?.kind === "user" && session.items.length === 2 ? last.busyMode : undefined, busyMode);
    await window.handle({ type: "stop" });
    await turn;
  });
}

test("a permission request is answered once, with the chosen option", async () => {
  await connect();
  window.agent.turn = async ({ client, sessionId }) => {
    const params = permission(sessionId);
    const answer = await client.request(methods.client.session.requestPermission, params);
    assert.deepEqual(answer, { outcome: { outcome: "selected", optionId: "once" } });
    return { stopReason: "end_turn" };
  };
  const turn = window.prompt("go");
  const { session } = await window.until((view) => view.session.questions.length === 1);
  assert.deepEqual(window.notifications, ["question-1 Edit a"]);
  assert.equal(window.states.at(-1)?.openQuestions, 1);
  const questionId = session.questions[0]?.id ?? "";
  await window.handle({ type: "permit", questionId, optionId: "not offered", reason: "" });
  assert.equal(window.states.at(-1)?.openQuestions, 1);
  await window.handle({ type: "permit", questionId, optionId: "once", reason: "" });
  await window.handle({ type: "permit", questionId, optionId: "no", reason: "" });
  await turn;
  assert.equal(window.states.at(-1)?.openQuestions, 0);
});

test("a form is submitted, and a page opens only after consent", async () => {
  await connect();
  window.agent.turn = async ({ client, sessionId }) => {
    const form = await client.request(methods.client.elicitation.create, {
      sessionId,
      mode: "form",
      message: "Which?",
      requestedSchema: { type: "object", properties: { a: { type: "string" } } },
    });
    assert.deepEqual(form, { action: "accept", content: { a: "this" } });
    const page = await client.request(methods.client.elicitation.create, {
      sessionId,
      mode: "url",
      message: "Go there",
      elicitationId: "e",
      url: "https://example.com/",
    });
    assert.deepEqual(page, { action: "accept" });
    return { stopReason: "end_turn" };
  };
  const turn = window.prompt("go");
  await window.until((view) => view.session.questions[0]?.id === "question-1");
  await window.handle({ type: "fillIn", questionId: "question-1", content: { a: "this" } });
  await window.until((view) => view.session.questions[0]?.id === "question-2");
  assert.deepEqual(window.editorWindow.actions, []);
  await window.handle({ type: "openUrl", questionId: "question-2" });
  await turn;
  assert.deepEqual(window.editorWindow.actions, ["browse https://example.com/"]);
});

test("a write appears in the review, its problems are sent, and a revert restores the file", async () => {
  await connect();
  window.files.disk.set("/project/a.py", "old\n");
  window.problems.set("/project/a.py", [problem("unused")]);
  window.agent.turn = async ({ client, sessionId }) => {
    const path = "/project/a.py";
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: "new\n" });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  const { session } = await window.until((view) => view.session.changes.length === 1);
  assert.equal(session.changes[0]?.label, "a.py");
  window.controller.editorReporter.onDiagnosticsChanged(["/project/a.py"]);
  await window.handle({ type: "revert", path: "/project/a.py", hunkId: "" });
  await window.until((view) => view.session.changes.length === 0);
  assert.equal(window.files.disk.get("/project/a.py"), "old\n");
  const diagnostics = { sessionId: "session-1", path: "/project/a.py", items: [problem("unused")] };
  assert.deepEqual(window.agent.paramsOf("_hermes/diagnostics"), [diagnostics]);
});

test("a file that the user edited too is reverted only after confirmation", async () => {
  await connect();
  window.agent.turn = async ({ client, sessionId }) => {
    const path = "/project/a";
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: "new\n" });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  await window.until((view) => view.session.changes.length === 1);
  window.files.disk.set("/project/a", "mine\n");
  window.editorWindow.agrees = false;
  await window.handle({ type: "revert", path: "/project/a", hunkId: "" });
  assert.equal(window.files.disk.get("/project/a"), "mine\n");
  assert.match(window.editorWindow.actions.at(-1) ?? "", /^choose .* \[Keep the File\] \[Revert Everything\]$/);
});

test("the active file is sent before the prompt, and only when it changes", async () => {
  await connect();
  window.editorWindow.current = { ...window.editorWindow.current, file: "/project/a.py", firstLine: 7, lastLine: 7 };
  await window.prompt("one");
  await window.prompt("two");
  const place = { sessionId: "session-1", path: "/project/a.py", line: 7 };
  assert.deepEqual(window.agent.paramsOf("_hermes/active_file"), [place]);
  const order = window.agent.received.map(([method]) => method);
  assert.ok(order.indexOf("_hermes/active_file") < order.indexOf("session/prompt"));
});

test("the selection, the problems and mentioned files go with the prompt", async () => {
  await connect();
  const place = { file: "/project/a.py", firstLine: 2, lastLine: 3, selectedText: "x = 1" };
  window.editorWindow.current = { ...place, problems: [problem("unused")] };
  const images = [{ mimeType: "image/png", data: "AAAA" }];
  const draft = { text: "why?", images, mentions: [
    { kind: "file", path: "/project/b c.py", firstLine: 0, lastLine: 0 },
    { kind: "folder", path: "/project/src", firstLine: 0, lastLine: 0 },
    { kind: "file", path: "/project/c.py", firstLine: 2, lastLine: 3 },
    { kind: "problems", path: "", firstLine: 0, lastLine: 0 },
  ] as const };
  window.files.disk.set("/project/c.py", "one\ntwo\nthree\nfour\n");
  const switches = { withSelection: true, withFile: true, withProblems: true };
  await window.handle({ type: "send", draft: { ...draft, ...switches }, busyMode: "turn" });
  const [sent] = window.agent.paramsOf("session/prompt") as { prompt: unknown }[];
  const text = (uri: string, words: string): unknown => ({
    type: "resource",
    resource: { uri, text: words, mimeType: "text/plain" },
  });
  assert.deepEqual(sent?.prompt, [
    { type: "text", text: "why?" },
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "resource_link", uri: "file:///project/b%20c.py", name: "b c.py" },
    { type: "resource_link", uri: "file:///project/src/", name: "src" },
    text("file:///project/c.py#L2-3", "two\nthree\n"),
    text("vscode:problems", "There are no problems."),
    text("file:///project/a.py#L2-3", "x = 1"),
    text("file:///project/a.py#problems", "3: error: unused (ruff F401)"),
  ]);
});

test("an agent without a key leads to sign-in, and the prompt is not lost", async () => {
  await connect();
  const data = { message: "there is no key yet" };
  window.agent.turn = () => Promise.reject(RequestError.authRequired(data));
  await window.prompt("hello");
  const view = await window.until((each) => each.signIn.isNeeded && !each.session.isRunning);
  assert.deepEqual([view.signIn.message, view.session.returnedPrompt.text], [data.message, "hello"]);
  await window.handle({ type: "signIn", methodId: "key" });
  await window.until((each) => !each.signIn.isNeeded);
  assert.deepEqual(window.agent.paramsOf("authenticate"), [{ methodId: "key" }]);
});

test("signing in with a terminal runs the same program, and the server restarts", async () => {
  await connect();
  await window.handle({ type: "signIn", methodId: "setup" });
  assert.deepEqual(window.editorWindow.ranCommand, {
    command: "/bin/acp-server",
    arguments: ["setup"],
    environment: {},
    cwd: "/project",
  });
  await window.until((view) => view.connection.status === "ready" && window.starts === 2);
});

test("a server that stops is restarted, and the session is loaded again", async () => {
  await connect();
  window.agent.history = [{ sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: "Past" } }];
  window.agent.turn = ({ cancelled }) => cancelled.then(() => ({ stopReason: "cancelled" }));
  const turn = window.prompt("go");
  await window.until((view) => view.session.isRunning);
  window.crash("It fell over.\nNo memory.");
  await turn;
  await window.until((view) => view.connection.status === "ready" && agentTexts().length === 1);
  assert.deepEqual([window.starts, window.backoffs, agentTexts()], [2, [500], ["Past"]]);
  const [loaded] = window.agent.paramsOf("session/load") as { sessionId: string }[];
  assert.equal(loaded?.sessionId, "session-1");
  assert.equal(window.view.session.isRunning, false);
  const [notice] = window.view.session.items.flatMap((item) => (item.kind === "notice" ? [[item.title, item.description]] : []));
  assert.deepEqual(notice, ["It fell over. It was restarted.", "No memory."]);
});

test("after repeated failures the host gives up and shows the reason", async () => {
  window.agent.initializeResponse = { ...INITIALIZE_RESPONSE };
  window.locateServer = () => Promise.reject(new Error("no such thing"));
  await window.handle({ type: "ready", session: "" });
  const { connection } = await window.until((view) => view.connection.status === "failed");
  assert.equal(connection.message, "no such thing");
  assert.deepEqual(window.backoffs, [500, 1000, 2000, 4000, 8000, 16000]);
});

test("the server does not start in an untrusted workspace", async () => {
  window.isTrusted = false;
  await window.handle({ type: "ready", session: "" });
  await window.until((view) => view.connection.status === "untrusted");
  assert.equal(window.starts, 0);
});

test("sessions are listed, loaded, renamed, forked and deleted", async () => {
  await connect();
  const earlier = await window.until((view) => view.sessions.length === 1);
  assert.equal(earlier.sessions[0]?.title, "Earlier");
  await window.handle({ type: "openSession", id: "earlier" });
  await window.until((view) => view.session.id === "earlier" && !view.session.isLoading);
  await window.handle({ type: "renameSession", id: "earlier", title: "Mine" });
  await window.until((view) => view.sessions[0]?.title === "Mine" && view.session.title === "Mine");
  await window.handle({ type: "forkSession", id: "earlier" });
  await window.until((view) => view.session.id === "fork");
  await window.handle({ type: "deleteSession", id: "earlier" });
  await window.until((view) => !view.sessions.some(({ id }) => id === "earlier"));
  const methodNames = window.agent.received.map(([method]) => method);
  assert.ok(methodNames.includes("session/fork") && methodNames.includes("session/delete"));
});

test("modes and options are set, and shown as the agent reports them", async () => {
  await connect();
  await window.handle({ type: "setMode", modeId: "plan" });
  await window.until((view) => view.session.modes?.currentModeId === "plan");
  await window.handle({ type: "setOption", optionId: "mode", value: "plan" });
  const choice = { sessionId: "session-1", configId: "mode", value: "plan" };
  assert.deepEqual(window.agent.paramsOf("session/set_config_option"), [choice]);
});

test("follow mode opens each location once, without taking the focus", async () => {
  await connect();
  await window.handle({ type: "follow", isOn: true });
  window.agent.turn = async ({ show }) => {
    const locations = [{ path: "/project/a.py", line: 12 }];
    await show({ sessionUpdate: "tool_call", toolCallId: "c", title: "Read", locations });
    await show({ sessionUpdate: "tool_call_update", toolCallId: "c", locations });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  assert.deepEqual(window.editorWindow.actions, ["open /project/a.py:12"]);
});

test("links open web pages or files of the workspace, nothing else", async () => {
  await connect();
  for (const href of ["https://example.com/", "src/a.py#L10", "b.py:3", "command:evil", "vscode:x"]) {
    await window.handle({ type: "openLink", href });
  }
  assert.deepEqual(window.editorWindow.actions, [
    "browse https://example.com/",
    "open /project/src/a.py:10 focused",
    "open /project/b.py:3 focused",
  ]);
});

test("a diff is shown in the editor's own view", async () => {
  await connect();
  window.agent.turn = async ({ show }) => {
    const content = [{ type: "diff" as const, path: "/project/a", oldText: "a", newText: "b" }];
    await show({ sessionUpdate: "tool_call", toolCallId: "c", title: "Edit", content });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  await window.handle({ type: "openDiff", callId: "c", path: "/project/a" });
  assert.deepEqual(window.editorWindow.actions, ['diff /project/a "a" "b"']);
});
