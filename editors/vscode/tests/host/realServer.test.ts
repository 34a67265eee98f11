import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ServerCommand } from "../../src/host/serverLocator.js";
import type { ViewState } from "../../src/shared/state.js";
import { ServerSession } from "../support/serverSession.js";

/** The program of a real server; without it these tests are skipped. */
const SERVER = process.env["ACP_SERVER"];
const skip = SERVER === undefined ? "ACP_SERVER does not name a server" : false;

const SCRIPT = `\
prompt: slowly
pace: 100ms
say: ${"and so on ".repeat(200)}

prompt: hand it on
call: delegate_task
  goal: look around
step:
say: Handed on.

prompt: look around
think: I look.
say: Nothing here.

prompt: *
think: I look first.
call: todo
  todos:
    - {id: "1", content: Greet the world, status: in_progress}
call: read_file
  path: greeting.txt
step:
call: patch
  path: greeting.txt
  old_string: there
  new_string: world
step:
call: terminal
  command: sort greeting.txt; exit 3
step:
say: Done.
`;

const folders: string[] = [];
const sessions: ServerSession[] = [];
after(async () => {
  for (const { host } of sessions) host.dispose();
  await Promise.all(sessions.flatMap(({ ends }) => ends)); // the server writes to its home until it exits
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "acp-server-vscode-"));
  folders.push(made);
  return made;
}

function lastAgentText(view: ViewState): string {
  const item = view.session.items.at(-1);
  return item?.kind === "agent" ? item.text : "";
}

/** Return the order of entries, without thoughts and notices. */
function outlineOf(items: ViewState["session"]["items"]): string[] {
  const kinds = items.flatMap((item) => (item.kind === "ending" ? [item.reason] : [item.kind]));
  return kinds.filter((kind) => ["user", "agent", "call", "cancelled"].includes(kind));
}

function textsOfSubAgents(items: ViewState["session"]["items"]): string[] {
  return items.flatMap((item) => (item.kind === "call" ? item.call.texts.map(({ text }) => text) : []));
}

/** Allow every permission request until the turn ends. The server decides which calls need permission. */
async function allowAll(session: ServerSession): Promise<void> {
  await session.until((view) => view.session.isRunning);
  for (;;) {
    const { session: now } = await session.until(
      (view) => view.session.questions.length > 0 || !view.session.isRunning,
    );
    const [question] = now.questions;
    if (question?.kind !== "permission") return;
    const optionId = question.options.find(({ kind }) => kind === "allow_once")?.optionId ?? "";
    await session.host.handle({ type: "permit", questionId: question.id, optionId, reason: "" });
    await session.until((view) => !view.session.questions.includes(question));
  }
}

test("a real server edits files, asks for permission, runs a terminal, and its session is loaded again", { skip }, async () => {
  const [home, workspace] = [await folder(), await folder()];
  const script = join(home, "work.script");
  const greeting = join(workspace, "greeting.txt");
  await writeFile(script, SCRIPT);
  await writeFile(greeting, "Hello there.\n");
  const serverCommand: ServerCommand = {
    command: SERVER ?? "",
    programArguments: [],
    serveArguments: ["serve", "--unstable", "true", "--model", `scripted:${script}`],
    environment: { HERMES_HOME: home },
  };
  const session = new ServerSession(serverCommand, workspace);
  const { host } = session;
  sessions.push(session);
  await host.handle({ type: "ready", session: "" });
  const { connection } = await session.until((view) => view.connection.status === "ready");
  const can = {
    images: true, steer: true, list: true, load: true, delete: true, fork: true, restore: true,
  };
  assert.deepEqual(connection.features, can);

  const switches = { withSelection: false, withFile: false, withProblems: false };
  const draft = { text: "go", images: [], mentions: [], ...switches };
  const turn = host.handle({ type: "send", draft, busyMode: "turn" });
  await allowAll(session);
  await turn;
  const done = await session.until((view) => !view.session.isRunning && view.session.changes.length === 1);
  assert.equal(await readFile(greeting, "utf8"), "Hello world.\n");
  assert.deepEqual(done.session.plan.map(({ content }) => content), ["Greet the world"]);
  const calls = done.session.items.flatMap((item) => (item.kind === "call" ? [`${item.call.kind} ${item.call.status}`] : []));
  assert.deepEqual(calls.slice(-3), ["read completed", "edit completed", "execute failed"]);
  const [terminal] = Object.values(done.session.terminals);
  assert.deepEqual([terminal?.output, terminal?.exit?.exitCode], ["Hello world.\n", 3]);

  // A slash command counts as a prompt too, so the turn end comes after the third prompt.
  const say = (text: string): Promise<void> => host.handle({ type: "send", draft: { ...draft, text }, busyMode: "turn" });
  await say("/help");
  const delegating = say("hand it on");
  await allowAll(session);
  await delegating;
  const { session: delegated } = await session.until((view) => !view.session.isRunning && lastAgentText(view) === "Handed on.");
  assert.deepEqual(textsOfSubAgents(delegated.items), ["I look.", "Nothing here."]);
  const stopped = say("slowly");
  await session.until((view) => view.session.isRunning && lastAgentText(view).includes("so on"));
  await host.handle({ type: "stop" });
  await stopped;
  const { session: before } = await session.until((view) => view.session.items.at(-1)?.kind === "ending");

  const { id } = done.session;
  host.restart();
  const reloaded = await session.until(
    (view) => view.connection.status === "ready" && view.session.id === id && !view.session.isLoading,
  );
  assert.deepEqual(outlineOf(reloaded.session.items), outlineOf(before.items));
  assert.deepEqual(textsOfSubAgents(reloaded.session.items), ["I look.", "Nothing here."]);
  await session.until((view) => view.session.changes.length === 1);
  await host.handle({ type: "revert", path: greeting, hunkId: "" });
  assert.equal(await readFile(greeting, "utf8"), "Hello there.\n");
});
