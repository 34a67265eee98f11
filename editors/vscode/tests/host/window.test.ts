import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { methods, RequestError, type RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { GREETING } from "../support/agent.js";
import { problem } from "../support/surroundings.js";
import { Window } from "../support/window.js";

let window = new Window();

async function begin(): Promise<Window> {
  return window.begin();
}

afterEach(() => {
  window.close();
  window = new Window();
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

const said = (): string[] =>
  window.view.session.items.flatMap((item) => (item.kind === "agent" ? [item.text] : []));

test("a window greets the agent, opens a session in its folders and shows its choices", async () => {
  await begin();
  const [greeting] = window.agent.heardOf("initialize") as { clientCapabilities: unknown }[];
  assert.deepEqual(greeting?.clientCapabilities, {
    fs: { readTextFile: true, writeTextFile: true },
    terminal: true,
    auth: { terminal: true },
    elicitation: { form: {}, url: {} },
    session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
  });
  const place = { cwd: "/project", additionalDirectories: ["/other"], mcpServers: [] };
  assert.deepEqual(window.agent.heardOf("session/new"), [place]);
  const { connection, session } = window.view;
  assert.deepEqual([connection.agent, connection.can.steer], ["Fake Agent", true]);
  assert.deepEqual([session.modes?.currentModeId, session.options.length], ["ask", 1]);
});

test("a prompt is shown, its answer streams, and the turn ends behind all of it", async () => {
  await begin();
  window.agent.turn = async ({ say }) => {
    for (let chunk = 0; chunk < 500; chunk += 1) void say("x");
    await say("!");
    return { stopReason: "end_turn" };
  };
  await window.say("go");
  const { session } = await window.until((view) => !view.session.isRunning && said()[0] !== undefined);
  assert.equal(said()[0], `${"x".repeat(500)}!`);
  assert.deepEqual(
    session.items.map((item) => item.kind),
    ["user", "agent"],
  );
});

test("a view that is made anew shows the same", async () => {
  await begin();
  window.agent.turn = async ({ say }) => {
    await say("Hello");
    return { stopReason: "end_turn" };
  };
  await window.say("go");
  const { session } = await window.until((view) => view.session.items.length === 2);
  window.attach();
  assert.deepEqual(window.view.session, session);
});

test("a stop cancels the turn, its questions, and gives back what waits", async () => {
  await begin();
  window.agent.turn = async ({ client, sessionId, cancelled }) => {
    const asked = client.request(
      methods.client.session.requestPermission,
      permission(sessionId),
    );
    await cancelled;
    assert.deepEqual(await asked, { outcome: { outcome: "cancelled" } });
    return { stopReason: "cancelled" };
  };
  const turn = window.say("go");
  await window.until((view) => view.session.questions.length === 1);
  await window.say("and then", "queue");
  await window.do({ type: "stop" });
  await turn;
  const { session } = await window.until((view) => !view.session.isRunning);
  assert.deepEqual([session.queue, session.restored.text], [[], "and then"]);
  assert.equal(window.agent.heardOf("session/prompt").length, 1);
});

test("what is queued runs behind the turn, in order", async () => {
  await begin();
  const prompts: string[] = [];
  const gate = later();
  window.agent.turn = async ({ prompt }) => {
    const [block] = prompt;
    prompts.push(block?.type === "text" ? block.text : "");
    if (prompts.length === 1) await gate.promise;
    return { stopReason: "end_turn" };
  };
  const turn = window.say("one");
  await window.until((view) => view.session.isRunning);
  await window.say("two", "queue");
  await window.say("three", "queue");
  const queued = await window.until((view) => view.session.queue.length === 2);
  assert.deepEqual(queued.session.queue.map((each) => each.text), ["two", "three"]);
  gate.resolve();
  await turn;
  assert.deepEqual(prompts, ["one", "two", "three"]);
});

function later(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

for (const [outcome, manner] of [
  ["injected", "steer"],
  ["failed", undefined],
] as const) {
  test(`what is said while the agent works is ${outcome}`, async () => {
    await begin();
    window.agent.steering = outcome;
    window.agent.turn = async ({ prompt, cancelled }) => {
      const [block] = prompt;
      if (block?.type === "text" && block.text === "go") await cancelled;
      return { stopReason: "cancelled" };
    };
    const turn = window.say("go");
    await window.until((view) => view.session.isRunning);
    await window.say("not that", "steer");
    const { session } = await window.until(
      ({ session: { queue, items } }) => queue.length + items.length === 2,
    );
    const last = session.items.at(-1);
    assert.equal(last?.kind === "user" && session.items.length === 2 ? last.manner : undefined, manner);
    await window.do({ type: "stop" });
    await turn;
  });
}

test("a permission is answered with the option that was chosen, once", async () => {
  await begin();
  window.agent.turn = async ({ client, sessionId }) => {
    const params = permission(sessionId);
    const answer = await client.request(methods.client.session.requestPermission, params);
    assert.deepEqual(answer, { outcome: { outcome: "selected", optionId: "once" } });
    return { stopReason: "end_turn" };
  };
  const turn = window.say("go");
  const { session } = await window.until((view) => view.session.questions.length === 1);
  assert.deepEqual(window.notified, ["question-1 Edit a"]);
  assert.equal(window.states.at(-1)?.waiting, 1);
  const questionId = session.questions[0]?.id ?? "";
  await window.do({ type: "permit", questionId, optionId: "not offered" });
  assert.equal(window.states.at(-1)?.waiting, 1);
  await window.do({ type: "permit", questionId, optionId: "once" });
  await window.do({ type: "permit", questionId, optionId: "no" });
  await turn;
  assert.equal(window.states.at(-1)?.waiting, 0);
});

test("a form is filled in, and a page is opened only with consent", async () => {
  await begin();
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
  const turn = window.say("go");
  await window.until((view) => view.session.questions[0]?.id === "question-1");
  await window.do({ type: "fillIn", questionId: "question-1", content: { a: "this" } });
  await window.until((view) => view.session.questions[0]?.id === "question-2");
  assert.deepEqual(window.desk.done, []);
  await window.do({ type: "openUrl", questionId: "question-2" });
  await turn;
  assert.deepEqual(window.desk.done, ["browse https://example.com/"]);
});

test("a write is reviewed, its problems are told, and reverting gives the file back", async () => {
  await begin();
  window.files.disk.set("/project/a.py", "old\n");
  window.problems.set("/project/a.py", [problem("unused")]);
  window.agent.turn = async ({ client, sessionId }) => {
    const path = "/project/a.py";
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: "new\n" });
    return { stopReason: "end_turn" };
  };
  await window.say("go");
  const { session } = await window.until((view) => view.session.changes.length === 1);
  assert.equal(session.changes[0]?.label, "a.py");
  window.host.presence.checked(["/project/a.py"]);
  await window.do({ type: "revert", path: "/project/a.py", hunkId: "" });
  await window.until((view) => view.session.changes.length === 0);
  assert.equal(window.files.disk.get("/project/a.py"), "old\n");
  const items = [problem("unused")];
  const told = { sessionId: "session-1", path: "/project/a.py", items };
  assert.deepEqual(window.agent.heardOf("_hermes/diagnostics"), [told]);
});

test("a change that the user has changed too is reverted only if they agree", async () => {
  await begin();
  window.agent.turn = async ({ client, sessionId }) => {
    const path = "/project/a";
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: "new\n" });
    return { stopReason: "end_turn" };
  };
  await window.say("go");
  await window.until((view) => view.session.changes.length === 1);
  window.files.disk.set("/project/a", "mine\n");
  window.desk.agrees = false;
  await window.do({ type: "revert", path: "/project/a", hunkId: "" });
  assert.equal(window.files.disk.get("/project/a"), "mine\n");
});

test("where the user is, is told before the prompt and only when it changes", async () => {
  await begin();
  window.desk.now = { ...window.desk.now, file: "/project/a.py", firstLine: 7, lastLine: 7 };
  await window.say("one");
  await window.say("two");
  const place = { sessionId: "session-1", path: "/project/a.py", line: 7 };
  assert.deepEqual(window.agent.heardOf("_hermes/active_file"), [place]);
  const order = window.agent.heard.map(([method]) => method);
  assert.ok(order.indexOf("_hermes/active_file") < order.indexOf("session/prompt"));
});

test("the selection, the problems and mentioned files go with the prompt", async () => {
  await begin();
  const place = { file: "/project/a.py", firstLine: 2, lastLine: 3, selectedText: "x = 1" };
  window.desk.now = { ...place, problems: [problem("unused")] };
  const images = [{ mimeType: "image/png", data: "AAAA" }];
  const draft = { text: "why?", images, files: ["/project/b c.py"] };
  const switches = { withSelection: true, withFile: true, withProblems: true };
  await window.do({ type: "send", draft: { ...draft, ...switches }, manner: "turn" });
  const [sent] = window.agent.heardOf("session/prompt") as { prompt: unknown }[];
  const text = (uri: string, words: string): unknown => ({
    type: "resource",
    resource: { uri, text: words, mimeType: "text/plain" },
  });
  assert.deepEqual(sent?.prompt, [
    { type: "text", text: "why?" },
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "resource_link", uri: "file:///project/b%20c.py", name: "b c.py" },
    text("file:///project/a.py#L2-3", "x = 1"),
    text("file:///project/a.py#problems", "3: error: unused (ruff F401)"),
  ]);
});

test("an agent without a key leads to signing in, and the prompt is not lost", async () => {
  await begin();
  const data = { message: "there is no key yet" };
  window.agent.turn = () => Promise.reject(RequestError.authRequired(data));
  await window.say("hello");
  const view = await window.until((each) => each.signIn.isNeeded && !each.session.isRunning);
  assert.deepEqual([view.signIn.message, view.session.restored.text], [data.message, "hello"]);
  await window.do({ type: "signIn", wayId: "key" });
  await window.until((each) => !each.signIn.isNeeded);
  assert.deepEqual(window.agent.heardOf("authenticate"), [{ methodId: "key" }]);
});

test("signing in in a terminal runs the same program, and the server starts anew", async () => {
  await begin();
  await window.do({ type: "signIn", wayId: "setup" });
  assert.deepEqual(window.desk.ran, {
    command: "/bin/acp-server",
    arguments: ["setup"],
    environment: {},
    cwd: "/project",
  });
  await window.until((view) => view.connection.status === "ready" && window.starts === 2);
});

test("a server that ends is started again, and the session is there again", async () => {
  await begin();
  window.agent.past = [
    { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: "Past" } },
  ];
  window.agent.turn = ({ cancelled }) => cancelled.then(() => ({ stopReason: "cancelled" }));
  const turn = window.say("go");
  await window.until((view) => view.session.isRunning);
  window.crash("it fell over");
  await turn;
  await window.until((view) => view.connection.status === "ready" && said().length === 1);
  assert.deepEqual([window.starts, window.waits, said()], [2, [500], ["Past"]]);
  const [loaded] = window.agent.heardOf("session/load") as { sessionId: string }[];
  assert.equal(loaded?.sessionId, "session-1");
  assert.equal(window.view.session.isRunning, false);
});

test("a server that always fails is given up, with its reason", async () => {
  window.agent.greeting = { ...GREETING };
  window.locate = () => Promise.reject(new Error("no such thing"));
  await window.do({ type: "ready" });
  const { connection } = await window.until((view) => view.connection.status === "failed");
  assert.equal(connection.message, "no such thing");
  assert.deepEqual(window.waits, [500, 1000, 2000, 4000, 8000, 16000]);
});

test("in a workspace that is not trusted nothing is started", async () => {
  window.isTrusted = false;
  await window.do({ type: "ready" });
  await window.until((view) => view.connection.status === "untrusted");
  assert.equal(window.starts, 0);
});

test("sessions are listed, taken up, renamed, forked and deleted", async () => {
  await begin();
  const earlier = await window.until((view) => view.sessions.length === 1);
  assert.equal(earlier.sessions[0]?.title, "Earlier");
  await window.do({ type: "openSession", id: "earlier" });
  await window.until((view) => view.session.id === "earlier" && !view.session.isLoading);
  await window.do({ type: "renameSession", id: "earlier", title: "Mine" });
  await window.until((view) => view.sessions[0]?.title === "Mine" && view.session.title === "Mine");
  await window.do({ type: "forkSession", id: "earlier" });
  await window.until((view) => view.session.id === "fork");
  await window.do({ type: "deleteSession", id: "earlier" });
  await window.until((view) => !view.sessions.some(({ id }) => id === "earlier"));
  const heard = window.agent.heard.map(([method]) => method);
  assert.ok(heard.includes("session/fork") && heard.includes("session/delete"));
});

test("modes and options are set, and shown as the agent says", async () => {
  await begin();
  await window.do({ type: "setMode", modeId: "plan" });
  await window.until((view) => view.session.modes?.currentModeId === "plan");
  await window.do({ type: "setOption", optionId: "mode", value: "plan" });
  const choice = { sessionId: "session-1", configId: "mode", value: "plan" };
  assert.deepEqual(window.agent.heardOf("session/set_config_option"), [choice]);
});

test("follow mode opens each place once, without taking the focus", async () => {
  await begin();
  await window.do({ type: "follow", isOn: true });
  window.agent.turn = async ({ show }) => {
    const locations = [{ path: "/project/a.py", line: 12 }];
    await show({ sessionUpdate: "tool_call", toolCallId: "c", title: "Read", locations });
    await show({ sessionUpdate: "tool_call_update", toolCallId: "c", locations });
    return { stopReason: "end_turn" };
  };
  await window.say("go");
  assert.deepEqual(window.desk.done, ["open /project/a.py:12"]);
});

test("links lead to the web or to files of the workspace, nowhere else", async () => {
  await begin();
  for (const href of ["https://example.com/", "src/a.py#L10", "b.py:3", "command:evil", "vscode:x"]) {
    await window.do({ type: "openLink", href });
  }
  assert.deepEqual(window.desk.done, [
    "browse https://example.com/",
    "open /project/src/a.py:10 focused",
    "open /project/b.py:3 focused",
  ]);
});

test("a diff is shown in the editor's own view", async () => {
  await begin();
  window.agent.turn = async ({ show }) => {
    const content = [{ type: "diff" as const, path: "/project/a", oldText: "a", newText: "b" }];
    await show({ sessionUpdate: "tool_call", toolCallId: "c", title: "Edit", content });
    return { stopReason: "end_turn" };
  };
  await window.say("go");
  await window.do({ type: "openDiff", callId: "c", path: "/project/a" });
  assert.deepEqual(window.desk.done, ['diff /project/a "a" "b"']);
});

test("what fails is told to the user", async () => {
  await window.do({ type: "newSession" });
  assert.deepEqual(window.desk.done, ["tell The server is not there."]);
});
