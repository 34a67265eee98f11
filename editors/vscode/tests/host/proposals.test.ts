/** Changes that are proposed by a permission request, and accepted whole, in part or not at all. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { methods, type RequestPermissionResponse, type SessionUpdate, type ToolCallContent } from "@agentclientprotocol/sdk";
import type { Proposal } from "../../src/host/proposalService.js";
import { hunksBetween } from "../../src/shared/hunks.js";
import type { ToolCallState } from "../../src/shared/state.js";
import { TestWindow } from "../support/testWindow.js";

const FILE = "/project/a.py";
const OLD = "one\ntwo\nthree\nfour\n";
const NEW = "1\ntwo\nthree\n4\n";
const OPTIONS = [
  { optionId: "yes", name: "Allow", kind: "allow_once" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
] as const;
const WHOLE = [{ type: "diff", path: FILE, oldText: OLD, newText: NEW }] as const;

let window = new TestWindow();

afterEach(() => {
  window.close();
  window = new TestWindow();
});

interface Asking {
  readonly content?: ToolCallContent[];
  /** Whether the agent writes the file itself, not through the editor. */
  readonly writesItself?: boolean;
  /** Called between the question and the write. */
  readonly beforeWrite?: () => void;
}

/** Start a turn in which the agent asks before it writes; resolves with the proposal and the end of the turn. */
async function ask({ content = [...WHOLE], writesItself = false, beforeWrite = () => undefined }: Asking = {}): Promise<{
  proposal: Proposal;
  turn: Promise<void>;
  failures: string[];
}> {
  await window.connect();
  if (!window.files.disk.has(FILE)) window.files.disk.set(FILE, OLD);
  const failures: string[] = [];
  window.agent.turn = async ({ client, sessionId, show }) => {
    const call = { toolCallId: "c", title: "Edit a.py", kind: "edit" } as const;
    await show({ sessionUpdate: "tool_call", ...call, status: "pending", content });
    const { outcome } = await client.request<RequestPermissionResponse>(methods.client.session.requestPermission, { sessionId, toolCall: call, options: [...OPTIONS] });
    const end: SessionUpdate = { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", ...(!writesItself && { content }) };
    if (outcome.outcome !== "selected" || outcome.optionId !== "yes") return { stopReason: "end_turn" };
    beforeWrite();
    try {
      if (writesItself) window.files.disk.set(FILE, NEW);
      else await client.request(methods.client.fs.writeTextFile, { sessionId, path: FILE, content: NEW });
    } catch (error) {
      failures.push(String(error));
    }
    await show(end);
    return { stopReason: "end_turn" };
  };
  const turn = window.prompt("go");
  await window.until(({ session }) => session.items.some((item) => item.kind === "call"));
  while (window.display.proposals.size === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const [proposal] = window.display.proposals.values();
  assert.ok(proposal !== undefined);
  return { proposal, turn, failures };
}

function service(): NonNullable<TestWindow["reviews"]>["proposals"] {
  assert.ok(window.reviews !== undefined);
  return window.reviews.proposals;
}

/** Reject the first part of the proposal, which has two. */
async function rejectFirst({ questionId }: Proposal): Promise<void> {
  await service().rejectHunk(questionId, FILE, "0:0:gone");
  await service().rejectHunk(questionId, FILE, firstHunk());
}

function firstHunk(): string {
  return hunksBetween(OLD, NEW)[0]?.id ?? "";
}

test("a proposal has the whole texts, and is closed once it is answered", async () => {
  const { proposal, turn } = await ask();
  const [file] = proposal.files;
  assert.deepEqual([file?.before, file?.text, file?.isWhole, file?.rejected], [OLD, NEW, true, []]);
  await service().accept(proposal.questionId);
  await turn;
  assert.deepEqual([window.display.proposals.size, window.files.disk.get(FILE)], [0, NEW]);
});

test("a rejected proposal is never written", async () => {
  const { proposal, turn } = await ask();
  await service().reject(proposal.questionId);
  await turn;
  assert.deepEqual([window.display.proposals.size, window.files.disk.get(FILE)], [0, OLD]);
});

for (const writesItself of [false, true]) {
  test(`a rejected part is not in the file, and the agent is told which${writesItself ? ", also if it writes itself" : ""}`, async () => {
    const { proposal, turn } = await ask({ writesItself });
    await rejectFirst(proposal);
    assert.equal(window.display.proposals.get(proposal.questionId)?.files[0]?.text, "one\ntwo\nthree\n4\n");
    await service().accept(proposal.questionId);
    await turn;
    await window.until(({ session }) => session.changes[0]?.hunks.length === 1 && !session.isRunning);
    assert.equal(window.files.disk.get(FILE), "one\ntwo\nthree\n4\n");
    const [steered] = window.agent.paramsOf("_session/steering");
    assert.match(JSON.stringify(steered), /rejected these parts.*`a\.py`, line 1:.*-one.*\+1/s);
  });
}

const shownCall = (): ToolCallState | undefined => window.view.session.items.flatMap((item) => (item.kind === "call" ? [item.call] : []))[0];

test("the chat knows which parts are rejected, also after the answer", async () => {
  const { proposal, turn } = await ask();
  await rejectFirst(proposal);
  const rejected = [{ diff: 0, oldStart: 0, oldEnd: 1, newStart: 0, newEnd: 1 }];
  await window.until(() => shownCall()?.parts.rejected.length === 1);
  assert.deepEqual([shownCall()?.parts.total, shownCall()?.parts.rejected], [2, rejected]);
  await service().restoreHunks(proposal.questionId, FILE);
  await window.until(() => shownCall()?.parts.rejected.length === 0);
  await rejectFirst(proposal);
  await service().accept(proposal.questionId);
  await turn;
  await window.until(({ session }) => !session.isRunning);
  assert.deepEqual([shownCall()?.decision, shownCall()?.parts.rejected], ["Allowed 1 of 2 parts", rejected]);
  await window.handle({ type: "openDiff", callId: "c", path: FILE });
  assert.equal(window.editorWindow.actions.at(-1), `diff ${FILE} ${JSON.stringify(OLD)} ${JSON.stringify("one\ntwo\nthree\n4\n")}`);
});

test("a rejected part is found in the diff that has it, also if diffs cover only pieces of the file, with the same change twice", async () => {
  const twice = "one\ntwo\none\nfour\n";
  window.files.disk.set(FILE, twice);
  const content: ToolCallContent[] = [
    { type: "diff", path: FILE, oldText: "one\ntwo\n", newText: "1\ntwo\n" },
    { type: "diff", path: FILE, oldText: "one\nfour\n", newText: "1\nfour\n" },
  ];
  const { proposal, turn } = await ask({ content });
  await service().rejectHunk(proposal.questionId, FILE, hunksBetween(twice, "1\ntwo\n1\nfour\n")[1]?.id ?? "");
  await window.until(() => shownCall()?.parts.total === 2);
  assert.deepEqual(shownCall()?.parts.rejected, [{ diff: 1, oldStart: 0, oldEnd: 1, newStart: 0, newEnd: 1 }]);
  await service().reject(proposal.questionId);
  await turn;
});

test("allowing in the chat does not write a part that was rejected in the editor", async () => {
  const { proposal, turn } = await ask();
  await rejectFirst(proposal);
  await window.handle({ type: "permit", questionId: proposal.questionId, optionId: "yes", reason: "" });
  await turn;
  assert.equal(window.files.disk.get(FILE), "one\ntwo\nthree\n4\n");
});

test("if every part is rejected, the proposal is; rejected parts can be proposed again", async () => {
  const { proposal, turn } = await ask();
  await rejectFirst(proposal);
  await service().restoreHunks(proposal.questionId, FILE);
  assert.equal(window.display.proposals.get(proposal.questionId)?.files[0]?.text, NEW);
  await rejectFirst(proposal);
  await service().rejectHunk(proposal.questionId, FILE, hunksBetween(OLD, "one\ntwo\nthree\n4\n")[0]?.id ?? "");
  await service().accept(proposal.questionId);
  await turn;
  assert.equal(window.files.disk.get(FILE), OLD);
  assert.deepEqual(window.agent.paramsOf("_session/steering"), []);
});

test("unsaved changes of the user stay, and stay unsaved", async () => {
  const mine = `mine\n${OLD}`;
  window.files.disk.set(FILE, OLD);
  const document = window.files.openDocument(FILE, mine, true);
  const content: ToolCallContent[] = [{ type: "diff", path: FILE, oldText: "one\n", newText: "1\n" }];
  const { proposal, turn } = await ask({ content });
  assert.equal(proposal.files[0]?.before, mine);
  await service().reject(proposal.questionId);
  await turn;
  assert.deepEqual([document.text, document.isDirty, window.files.disk.get(FILE)], [mine, true, OLD]);
});

test("what the user typed after accepting a part is not overwritten", async () => {
  window.files.disk.set(FILE, OLD);
  const document = window.files.openDocument(FILE, OLD);
  const beforeWrite = (): void => {
    document.text = `${OLD}mine\n`;
    document.isDirty = true;
  };
  const { proposal, turn, failures } = await ask({ beforeWrite });
  await rejectFirst(proposal);
  await service().accept(proposal.questionId);
  await turn;
  assert.equal(document.text, `${OLD}mine\n`);
  assert.equal(failures.length, 1);
});

test("what was accepted in part and not written does not hinder a later write", async () => {
  const { proposal, turn } = await ask();
  await rejectFirst(proposal);
  window.agent.turn = () => Promise.resolve({ stopReason: "end_turn" });
  await service().accept(proposal.questionId);
  await turn;
  window.files.disk.set(FILE, OLD);
  window.agent.turn = async ({ client, sessionId }) => {
    await client.request(methods.client.fs.writeTextFile, { sessionId, path: FILE, content: "later\n" });
    return { stopReason: "end_turn" };
  };
  await window.prompt("again");
  assert.equal(window.files.disk.get(FILE), "later\n");
});

test("a diff whose place is uncertain is shown as it is, and accepted as a whole", async () => {
  const content: ToolCallContent[] = [{ type: "diff", path: FILE, oldText: "absent\n", newText: "new\n" }];
  const { proposal, turn } = await ask({ content });
  assert.deepEqual(
    proposal.files.map(({ before, text, isWhole }) => [before, text, isWhole]),
    [["absent\n", "new\n", false]],
  );
  await window.handle({ type: "openDiff", callId: "c", path: FILE });
  assert.deepEqual(window.editorWindow.actions, [`proposal ${FILE}`]);
  await service().accept(proposal.questionId);
  await turn;
  assert.equal(window.files.disk.get(FILE), NEW);
});

test("a proposal of another session is shown with that session", async () => {
  const { proposal, turn } = await ask();
  const first = window.view.session.id;
  window.display.proposals.clear();
  await window.handle({ type: "newSession" });
  await window.handle({ type: "openSession", id: first });
  while (window.display.proposals.size === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await service().accept(proposal.questionId);
  await turn;
});

test("a part that the user has edited since is reverted only after confirmation", async () => {
  await window.connect();
  window.files.disk.set(FILE, OLD);
  window.agent.turn = async ({ client, sessionId }) => {
    await client.request(methods.client.fs.writeTextFile, { sessionId, path: FILE, content: NEW });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  await window.until(({ session }) => session.changes.length === 1);
  window.files.openDocument(FILE, NEW.replace("4", "four of mine"), true);
  await window.reviews?.refresh(window.view.session.id);
  const { session } = await window.until((view) => view.session.changes[0]?.hunks[1]?.added[0] === "four of mine\n");
  window.editorWindow.agrees = false;
  const [agents, mine] = session.changes[0]?.hunks ?? [];
  await window.handle({ type: "revert", path: FILE, hunkId: mine?.id ?? "" });
  assert.equal(window.files.open.get(FILE)?.text, NEW.replace("4", "four of mine"));
  await window.handle({ type: "revert", path: FILE, hunkId: agents?.id ?? "" });
  assert.equal(window.files.open.get(FILE)?.text, "one\ntwo\nthree\nfour of mine\n");
  const question = "choose This part of a.py was changed after the agent edited it. Revert it nevertheless? [Keep It] [Revert]";
  assert.deepEqual(window.editorWindow.actions, ["end session-1", question]);
});

test("only the given parts are accepted: those of other files are rejected with the rest, and without one, all is rejected", async () => {
  const other = { type: "diff", path: "/project/b.py", oldText: "b\n", newText: "B\n" } as const;
  window.files.disk.set(other.path, other.oldText);
  let written = "";
  const beforeWrite = (): void => {
    written = service().textToWrite({ sessionId: window.view.session.id, path: other.path, content: other.newText }, other.oldText);
  };
  const { proposal, turn } = await ask({ content: [...WHOLE, other], beforeWrite });
  const [, last] = hunksBetween(OLD, NEW);
  await service().acceptOnly(proposal.questionId, FILE, [last?.id ?? ""]);
  await turn;
  assert.deepEqual([window.files.disk.get(FILE), written], ["one\ntwo\nthree\n4\n", other.oldText]);
});

test("parts that are not there any more are not accepted", async () => {
  const { proposal, turn } = await ask();
  await service().acceptOnly(proposal.questionId, FILE, ["0:0:gone"]);
  await turn;
  assert.equal(window.files.disk.get(FILE), OLD);
});

test("the agent's changes are reverted without the lines that the user wrote beside them", async () => {
  await window.connect();
  const path = "/project/list";
  window.files.disk.set(path, "one\ntwo\nthree\n");
  window.agent.turn = async ({ client, sessionId }) => {
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: "1\n1b\ntwo\n3\n" });
    return { stopReason: "end_turn" };
  };
  await window.prompt("go");
  await window.until((view) => view.session.changes.length === 1);
  window.files.disk.set(path, "mine\n1\n1b\nTWO\n3\nmine too\n");
  window.editorWindow.choice = "Revert Only the Agent's Changes";
  await window.handle({ type: "revert", path, hunkId: "" });
  assert.equal(window.files.disk.get(path), "mine\none\nTWO\nthree\nmine too\n");
  await window.until((view) => view.session.changes.length === 0);
});
