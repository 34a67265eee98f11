/** Prompts in sessions that no view shows: they may only answer, and leave no trace. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { methods } from "@agentclientprotocol/sdk";
import { TestWindow } from "../support/testWindow.js";

let window = new TestWindow();

afterEach(() => {
  window.close();
  window = new TestWindow();
});

test("the last answer is returned, and the session is deleted and listed nowhere", async () => {
  await window.connect();
  window.agent.turn = async ({ say, show }) => {
    await say("I look first.");
    await show({ sessionUpdate: "tool_call", toolCallId: "c", title: "Look" });
    await say("Add a ");
    await say("mean");
    return { stopReason: "end_turn" };
  };
  assert.equal(await window.controller.askInBackground("write a message"), "Add a mean");
  assert.deepEqual(window.agent.paramsOf("session/delete"), [{ sessionId: "session-2" }]);
  window.agent.sessions = [{ sessionId: "session-2", cwd: "/project" }];
  await window.controller.sessions.refresh();
  assert.deepEqual([window.view.session.id, window.view.session.items], ["session-1", []]);
  assert.ok(!window.view.sessions.some(({ id }) => id === "session-2"));
});

test("whatever such a session asks for is cancelled, and it can neither write nor run anything", async () => {
  await window.connect();
  const answers: unknown[] = [];
  window.agent.turn = async ({ client, sessionId }) => {
    const toolCall = { toolCallId: "c1", title: "Edit a" };
    const options = [{ optionId: "once", name: "Allow once", kind: "allow_once" as const }];
    answers.push(await client.request(methods.client.session.requestPermission, { sessionId, toolCall, options }));
    const requestedSchema = { type: "object" as const, properties: {} };
    answers.push(await client.request(methods.client.elicitation.create, { mode: "form", sessionId, message: "?", requestedSchema }));
    const write = client.request(methods.client.fs.writeTextFile, { sessionId, path: "/project/a", content: "x" });
    answers.push(await write.catch(() => "no write"));
    const run = client.request(methods.client.terminal.create, { sessionId, command: "true" });
    answers.push(await run.catch(() => "no command"));
    return { stopReason: "end_turn" };
  };
  await window.controller.askInBackground("write a message");
  assert.deepEqual(answers, [{ outcome: { outcome: "cancelled" } }, { action: "cancel" }, "no write", "no command"]);
  assert.deepEqual([window.notifications, window.files.disk.size], [[], 0]);
});
