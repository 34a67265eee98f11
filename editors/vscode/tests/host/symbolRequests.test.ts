/** `_hermes/symbols` reaches what answers it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestWindow } from "../support/testWindow.js";

test("the agent may ask what the editor's language features know", async () => {
  const window = new TestWindow();
  await window.connect();
  const answers: unknown[] = [];
  const request = { sessionId: "session-1", action: "outline", path: "/project/a.py" };
  window.agent.turn = async ({ client }) => {
    answers.push(await client.request("_hermes/symbols", request));
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  await window.until((view) => !view.session.isRunning && answers.length > 0);
  assert.deepEqual(answers, [{ symbols: [request] }]);
  window.close();
});
