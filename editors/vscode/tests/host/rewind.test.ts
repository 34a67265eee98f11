/** Restoring a session to the state before a prompt. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { TestWindow } from "../support/testWindow.js";

let window = new TestWindow();

afterEach(() => {
  window.close();
  window = new TestWindow();
});

/** Send two prompts whose responses name checkpoints. */
async function twoPrompts(): Promise<void> {
  await window.connect();
  let count = 0;
  window.agent.turn = async ({ say }) => {
    count += 1;
    await say(`Answer ${String(count)}`);
    return { stopReason: "end_turn", _meta: { hermes: { checkpoint: `c${String(count)}` } } };
  };
  await window.prompt("one");
  await window.prompt("two");
  await window.until(({ session }) => session.items.filter((item) => item.kind === "user" && item.checkpoint !== "").length === 2);
}

const restoreIntent = { type: "restore", checkpoint: "c2", text: "two", isSentAgain: false } as const;

for (const [scope, kinds, returned] of [
  ["files", ["user", "agent", "user", "agent"], ""],
  ["conversation", ["user", "agent"], "two"],
  ["both", ["user", "agent"], "two"],
] as const) {
  test(`restoring ${scope} leaves ${String(kinds.length)} entries, also in a new view`, async () => {
    await twoPrompts();
    await window.handle({ ...restoreIntent, scope });
    assert.deepEqual(window.agent.paramsOf("_hermes/restore"), [
      { sessionId: window.view.session.id, checkpoint: "c2", scope },
    ]);
    await window.until(({ session }) => session.items.length === kinds.length && session.returnedPrompt.text === returned);
    window.attach();
    assert.deepEqual(window.view.session.items.map(({ kind }) => kind), kinds);
    const told = scope === "conversation" ? undefined : "warn 1 file was restored. Not restored: b: changed since";
    assert.equal(window.editorWindow.actions.find((action) => action.startsWith("warn")), told);
  });
}

test("a restore of all files is no warning", async () => {
  await twoPrompts();
  window.agent.left = [];
  await window.handle({ ...restoreIntent, scope: "files" });
  assert.deepEqual(window.editorWindow.actions, ["inform 1 file was restored."]);
});

test("a prompt is retried: the state before it is restored, and it is sent again", async () => {
  await twoPrompts();
  await window.handle({ ...restoreIntent, scope: "both", isSentAgain: true });
  const { session } = await window.until(
    (view) => window.agent.paramsOf("session/prompt").length === 3 && view.session.items.length === 4 && !view.session.isRunning,
  );
  assert.equal(session.returnedPrompt.text, "");
});

test("nothing is restored during a turn, and a prompt is copied at any time", async () => {
  await window.connect();
  window.agent.turn = async ({ cancelled }) => {
    await cancelled;
    return { stopReason: "cancelled" };
  };
  const turn = window.prompt("go");
  await window.until(({ session }) => session.isRunning);
  await window.handle({ ...restoreIntent, scope: "both" });
  await window.handle({ type: "copyText", text: "go" });
  assert.deepEqual(window.editorWindow.actions, ["warn Stop the turn before you restore an earlier state.", "copy go"]);
  assert.deepEqual(window.agent.paramsOf("_hermes/restore"), []);
  await window.handle({ type: "stop" });
  await turn;
});

test("replayed prompts have their checkpoints", async () => {
  window.agent.history = [
    { sessionUpdate: "user_message_chunk", messageId: "m", content: { type: "text", text: "hi" }, _meta: { hermes: { checkpoint: "c9" } } },
  ];
  await window.connect();
  await window.handle({ type: "openSession", id: "earlier" });
  const { session } = await window.until((view) => view.session.items.length === 1);
  assert.ok(session.items[0]?.kind === "user" && session.items[0].checkpoint === "c9");
});
