import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { SessionEvent, ViewEvent } from "../../src/shared/events.js";
import { EventLog } from "../../src/shared/eventLog.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type TranscriptItem, type SessionState } from "../../src/shared/state.js";
import { MAX_SHOWN } from "../../src/shared/terminalOutput.js";

const update = (fields: SessionUpdate): SessionEvent => ({ type: "update", update: fields });
const agentChunk = (text: string, messageId = "m1"): SessionEvent =>
  update({ sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } });
const call = (fields: Partial<SessionUpdate> & { toolCallId: string }): SessionEvent =>
  update({ sessionUpdate: "tool_call_update", ...fields } as SessionUpdate);
const callStarted = (id = "c1"): SessionEvent =>
  update({ sessionUpdate: "tool_call", toolCallId: id, title: "Edit", kind: "edit" });

function sessionAfter(...events: ViewEvent[]): SessionState {
  return reduceAll(EMPTY_VIEW, events).session;
}

function callIn(session: SessionState, id = "c1"): Extract<TranscriptItem, { kind: "call" }>["call"] {
  const item = session.items.find((each) => each.kind === "call" && each.call.id === id);
  assert.ok(item?.kind === "call");
  return item.call;
}

test("chunks of a message are one entry, and another message is another", () => {
  const { items } = sessionAfter(agentChunk("a"), agentChunk("b"), agentChunk("c", "m2"));
  assert.deepEqual(
    items.map((item) => item.kind === "agent" && item.text),
    ["ab", "c"],
  );
});

test("an interrupted message continues after a notice", () => {
  const notice = update({ sessionUpdate: "notice", severity: "warning", title: "Asked again" });
  const { items } = sessionAfter(agentChunk("a"), notice, agentChunk("b"));
  assert.deepEqual(
    items.map((item) => (item.kind === "agent" ? item.text : item.kind)),
    ["ab", "notice"],
  );
});

test("a message that continues after a tool call is a new entry", () => {
  const { items } = sessionAfter(agentChunk("a"), callStarted(), agentChunk("b"));
  assert.deepEqual(
    items.map((item) => item.kind),
    ["agent", "call", "agent"],
  );
});

test("thoughts and answers are kept apart", () => {
  const thought = update({
    sessionUpdate: "agent_thought_chunk",
    content: { type: "text", text: "hm" },
  });
  const { items } = sessionAfter(thought, agentChunk("a"));
  assert.deepEqual(
    items.map((item) => item.kind),
    ["thought", "agent"],
  );
});

test("fields missing from a tool call update keep their values", () => {
  const session = sessionAfter(callStarted(), call({ toolCallId: "c1", status: "in_progress" }));
  const { title, kind, status } = callIn(session);
  assert.deepEqual({ title, kind, status }, { title: "Edit", kind: "edit", status: "in_progress" });
});

test("an update of an unknown tool call adds the call", () => {
  const { title, status } = callIn(sessionAfter(call({ toolCallId: "c1", title: "Late" })));
  assert.deepEqual({ title, status }, { title: "Late", status: "pending" });
});

test("instructions and parents come from a call's meta", () => {
  const _meta = { hermes: { instructions: ["sub/AGENTS.md"] }, parentToolUseId: "p" };
  const { instructions, parentId } = callIn(sessionAfter(call({ toolCallId: "c1", _meta })));
  assert.deepEqual({ instructions, parentId }, { instructions: ["sub/AGENTS.md"], parentId: "p" });
});

test("what sub-agents write belongs to their call, each message by its id", () => {
  const nested = (kind: "agent" | "thought", messageId: string, text: string): SessionEvent => ({
    type: "update",
    update: {
      sessionUpdate: kind === "agent" ? "agent_message_chunk" : "agent_thought_chunk",
      content: { type: "text", text },
      messageId,
      _meta: { parentToolUseId: "c1" },
    },
  });
  const session = sessionAfter(
    callStarted(),
    nested("thought", "t1", "Let me"),
    nested("agent", "m1", "One"),
    nested("agent", "m2", "Two"),
    nested("agent", "m1", " more."),
    nested("thought", "t1", " see."),
  );
  assert.deepEqual(session.items.map((item) => item.kind), ["call"]);
  assert.deepEqual(
    callIn(session).texts.map(({ kind, text }) => [kind, text]),
    [["thought", "Let me see."], ["agent", "One more."], ["agent", "Two"]],
  );
});

test("output under a call's meta is a terminal", () => {
  const meta = (fields: Record<string, unknown>): SessionEvent => call({ toolCallId: "c1", _meta: fields });
  const session = sessionAfter(
    meta({ terminal_info: { terminal_id: "t", cwd: "/" } }),
    meta({ terminal_output: { terminal_id: "t", data: "a" } }),
    meta({ terminal_output: { terminal_id: "t", data: "b" } }),
    meta({ terminal_exit: { terminal_id: "t", exit_code: 3, signal: null } }),
  );
  const exit = { exitCode: 3, signal: null };
  assert.deepEqual(session.terminals, { t: { output: "ab", isTruncated: false, exit } });
});

test("the end of a terminal's output is shown", () => {
  const data = `${"x".repeat(MAX_SHOWN)}\nlast`;
  const session = sessionAfter({ type: "terminal", id: "t", data, isTruncated: false });
  const terminal = session.terminals["t"];
  assert.ok(terminal);
  assert.ok(terminal.output.endsWith("last"));
  assert.ok(terminal.output.length <= MAX_SHOWN && terminal.isTruncated);
});

test("a cancelled turn leaves no tool call running and no question open", () => {
  const session = sessionAfter(
    callStarted(),
    { type: "running", startedAt: 1 },
    { type: "permission", questionId: "q", call: { toolCallId: "c1" }, options: [] },
    { type: "ended", reason: "cancelled", error: "" },
  );
  const { status, isCancelled } = callIn(session);
  assert.deepEqual({ status, isCancelled }, { status: "failed", isCancelled: true });
  assert.deepEqual([session.questions, session.isRunning], [[], false]);
});

test("a permission request carries its call's diff, and the answer is shown on the call", () => {
  const content = [{ type: "diff" as const, path: "/a", oldText: "a", newText: "b" }];
  const options = [{ optionId: "y", name: "Allow once", kind: "allow_once" as const }];
  const permissionAsked: SessionEvent = {
    type: "permission",
    questionId: "q",
    call: { toolCallId: "c1", title: "Edit a", content },
    options,
  };
  const permissionAnswered: SessionEvent = {
    type: "answered",
    questionId: "q",
    outcome: { outcome: "selected", optionId: "y", name: "Allow once" },
  };
  const during = sessionAfter(callStarted(), permissionAsked);
  const expected = { kind: "permission", id: "q", callId: "c1", title: "Edit a", options };
  assert.deepEqual(during.questions, [expected]);
  const { decision, content: shown } = callIn(sessionAfter(callStarted(), permissionAsked, permissionAnswered));
  assert.deepEqual({ decision, shown }, { decision: "Allowed", shown: content });
});

test("a plan that a turn leaves unfinished is an entry, and a finished one is gone with the next turn", () => {
  const planOf = (...statuses: ("completed" | "pending")[]): SessionEvent =>
    update({ sessionUpdate: "plan", entries: statuses.map((status) => ({ content: status, priority: "medium", status })) });
  const running: SessionEvent = { type: "running", startedAt: 1 };
  const ended: SessionEvent = { type: "ended", reason: "end_turn", error: "" };
  const kinds = (...events: SessionEvent[]): string[] => sessionAfter(...events).items.map(({ kind }) => kind);
  assert.deepEqual(kinds(running, planOf("completed", "pending"), ended), ["plan"]);
  assert.deepEqual(kinds(running, planOf("completed", "pending"), ended, running, ended), ["plan"], "it was shown twice");
  assert.deepEqual(kinds(running, planOf("completed"), ended), []);
  assert.deepEqual(sessionAfter(running, planOf("completed"), ended, running).plan, []);
  assert.equal(sessionAfter(running, planOf("pending"), ended, running).plan.length, 1);
});

test("a prompt that the agent echoes is shown once", () => {
  const block = { type: "text" as const, text: "hi" };
  const { items } = sessionAfter(
    { type: "prompted", id: "p", blocks: [block], busyMode: "turn" },
    update({ sessionUpdate: "user_message_chunk", messageId: "u", content: block }),
  );
  assert.equal(items.length, 1);
});

test("the mode option also sets the current mode", () => {
  const modes = { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] };
  const option = {
    id: "mode",
    name: "Mode",
    type: "select" as const,
    category: "mode",
    currentValue: "plan",
    options: [],
  };
  const session = sessionAfter(
    { type: "choices", modes, options: [] },
    update({ sessionUpdate: "config_option_update", configOptions: [option] }),
  );
  assert.equal(session.modes?.currentModeId, "plan");
});

test("a compaction is one entry from its start to its end", () => {
  const { items } = sessionAfter(
    update({ sessionUpdate: "compaction_update", compactionId: "k", status: "in_progress" }),
    update({
      sessionUpdate: "compaction_summary_chunk",
      compactionId: "k",
      content: { type: "text", text: "Sum" },
    }),
    update({ sessionUpdate: "compaction_update", compactionId: "k", status: "completed" }),
  );
  assert.deepEqual(items, [
    { kind: "compaction", key: "item-0", id: "k", status: "completed", summary: "Sum", error: "" },
  ]);
});

test("an unknown update variant changes nothing", () => {
  const unknown = { sessionUpdate: "from_the_future" } as unknown as SessionUpdate;
  assert.equal(sessionAfter(update(unknown)), EMPTY_VIEW.session);
});

test("a different session starts empty", () => {
  const opened: SessionEvent = { type: "session", id: "s2", cwd: "/", title: "", isLoading: false };
  assert.deepEqual(sessionAfter(agentChunk("a"), opened).items, []);
});

test("the log is shorter than the events, and reduces to the same state", () => {
  const diff = (newText: string): SessionEvent =>
    call({ toolCallId: "c1", content: [{ type: "diff", path: "/a", newText }] });
  const option = { optionId: "y", name: "Allow", kind: "allow_once" as const };
  const events: SessionEvent[] = [
    { type: "session", id: "s", cwd: "/", title: "", isLoading: false },
    { type: "running", startedAt: 5 },
    ...Array.from({ length: 50 }, (_, n) => agentChunk(String(n))),
    callStarted(),
    ...Array.from({ length: 20 }, (_, n) => diff("x".repeat(n))),
    { type: "permission", questionId: "q", call: { toolCallId: "c1", title: "?" }, options: [option] },
    { type: "answered", questionId: "q", outcome: { outcome: "cancelled" } },
    diff("last"),
    call({ toolCallId: "c1", status: "completed" }),
    { type: "terminal", id: "t", data: "a", isTruncated: false },
    { type: "terminal", id: "t", data: "b", isTruncated: false },
    update({ sessionUpdate: "usage_update", used: 1, size: 10 }),
    update({ sessionUpdate: "usage_update", used: 2, size: 10 }),
    { type: "ended", reason: "end_turn", error: "" },
    call({ toolCallId: "c1", status: "failed" }),
  ];
  const log = new EventLog();
  for (const event of events) log.append(event);
  assert.deepEqual(sessionAfter(...log.events), sessionAfter(...events));
  assert.equal(log.events.length, 11);
});
