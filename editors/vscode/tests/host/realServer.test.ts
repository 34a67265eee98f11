import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Controller } from "../../src/host/controller.js";
import { Hub } from "../../src/host/hub.js";
import type { Launch } from "../../src/host/locating.js";
import { NodeDisk } from "../../src/host/nodeDisk.js";
import { startServer } from "../../src/host/serverProcess.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../../src/shared/state.js";
import { FakeDesk, FakeDrawer, FakeFiles, FakeLog, FakeMemory, FakePanel } from "../support/surroundings.js";

/** The program of a real server; without it these tests have nothing to talk to. */
const SERVER = process.env["ACP_SERVER"];
const skip = SERVER === undefined ? "ACP_SERVER does not name a server" : false;
const DEADLINE_MILLISECONDS = 30_000;

const SCRIPT = `\
prompt: slowly
pace: 100ms
say: ${"and so on ".repeat(200)}

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
const opened: Session[] = [];
after(async () => {
  for (const { host } of opened) host.dispose();
  await Promise.all(opened.flatMap(({ ends }) => ends)); // it writes into its home until then
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "acp-server-vscode-"));
  folders.push(made);
  return made;
}

class Session {
  readonly desk = new FakeDesk();
  readonly log = new FakeLog();
  readonly ends: Promise<unknown>[] = [];
  readonly host: Controller;
  view: ViewState = EMPTY_VIEW;
  #onView: () => void = () => undefined;

  constructor(launch: Launch, workspace: string) {
    this.desk.folders = [workspace];
    const hub = new Hub();
    hub.attach(({ kind, events }) => {
      this.view = reduceAll(kind === "replay" ? EMPTY_VIEW : this.view, events);
      this.#onView();
    });
    this.host = new Controller(
      {
        version: "test",
        desk: this.desk,
        documents: new FakeFiles(),
        disk: new NodeDisk(),
        panel: new FakePanel(),
        memory: new FakeMemory(),
        drawer: new FakeDrawer(),
        log: this.log,
        locate: () => Promise.resolve(launch),
        start: (found, cwd) => {
          const server = startServer(found, cwd, this.log, () => false);
          this.ends.push(server.ended);
          return { ...server, ended: server.ended.then(({ lastWords }) => lastWords || "ended") };
        },
        problemsOf: () => [],
        isTrusted: () => true,
        followsAtFirst: () => false,
        wait: () => Promise.resolve(),
        now: () => Date.now(),
        onState: () => undefined,
        onPermission: () => undefined,
      },
      hub,
    );
  }

  until(isSo: (view: ViewState) => boolean): Promise<ViewState> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        reject(new Error(`${this.log.lines.join("\n")}\n${JSON.stringify(this.view.session)}`));
      }, DEADLINE_MILLISECONDS);
      const look = (): void => {
        if (!isSo(this.view)) return;
        clearTimeout(late);
        resolve(this.view);
      };
      this.#onView = look;
      look();
    });
  }
}

function saidLast(view: ViewState): string {
  const item = view.session.items.at(-1);
  return item?.kind === "agent" ? item.text : "";
}

/** Return what stands below what; thoughts and notices aside. */
function outlineOf(items: ViewState["session"]["items"]): string[] {
  const kinds = items.flatMap((item) => (item.kind === "ending" ? [item.reason] : [item.kind]));
  return kinds.filter((kind) => ["user", "agent", "call", "cancelled"].includes(kind));
}

/** Allow what is asked until the turn is over; whether a command is asked about is the server's. */
async function allowAll(session: Session): Promise<void> {
  await session.until((view) => view.session.isRunning);
  for (;;) {
    const { session: now } = await session.until(
      (view) => view.session.questions.length > 0 || !view.session.isRunning,
    );
    const [question] = now.questions;
    if (question?.kind !== "permission") return;
    const optionId = question.options.find(({ kind }) => kind === "allow_once")?.optionId ?? "";
    await session.host.do({ type: "permit", questionId: question.id, optionId });
    await session.until((view) => !view.session.questions.includes(question));
  }
}

test("a real server edits through us, asks, runs in our terminal, and is loaded again", { skip }, async () => {
  const [home, workspace] = [await folder(), await folder()];
  const script = join(home, "work.script");
  const greeting = join(workspace, "greeting.txt");
  await writeFile(script, SCRIPT);
  await writeFile(greeting, "Hello there.\n");
  const launch: Launch = {
    command: SERVER ?? "",
    program: [],
    serving: ["serve", "--unstable", "true", "--model", `scripted:${script}`],
    environment: { HERMES_HOME: home },
  };
  const session = new Session(launch, workspace);
  const { host } = session;
  opened.push(session);
  await host.do({ type: "ready" });
  const { connection } = await session.until((view) => view.connection.status === "ready");
  const can = { images: true, steer: true, list: true, load: true, delete: true, fork: true };
  assert.deepEqual(connection.can, can);

  const switches = { withSelection: false, withFile: false, withProblems: false };
  const draft = { text: "go", images: [], files: [], ...switches };
  const turn = host.do({ type: "send", draft, manner: "turn" });
  await allowAll(session);
  await turn;
  const done = await session.until((view) => !view.session.isRunning && view.session.changes.length === 1);
  assert.equal(await readFile(greeting, "utf8"), "Hello world.\n");
  assert.deepEqual(done.session.plan.map(({ content }) => content), ["Greet the world"]);
  const calls = done.session.items.flatMap((item) => (item.kind === "call" ? [`${item.call.kind} ${item.call.status}`] : []));
  assert.deepEqual(calls.slice(-3), ["read completed", "edit completed", "execute failed"]);
  const [terminal] = Object.values(done.session.terminals);
  assert.deepEqual([terminal?.output, terminal?.exit?.exitCode], ["Hello world.\n", 3]);

  // A command of the server's own is a prompt too; the mark stands behind the third.
  const say = (text: string): Promise<void> => host.do({ type: "send", draft: { ...draft, text }, manner: "turn" });
  await say("/help");
  const stopped = say("slowly");
  await session.until((view) => view.session.isRunning && saidLast(view).includes("so on"));
  await host.do({ type: "stop" });
  await stopped;
  const { session: before } = await session.until((view) => view.session.items.at(-1)?.kind === "ending");

  const { id } = done.session;
  host.restart();
  const again = await session.until(
    (view) => view.connection.status === "ready" && view.session.id === id && !view.session.isLoading,
  );
  assert.deepEqual(outlineOf(again.session.items), outlineOf(before.items));
  await session.until((view) => view.session.changes.length === 1);
  await host.do({ type: "revert", path: greeting, hunkId: "" });
  assert.equal(await readFile(greeting, "utf8"), "Hello there.\n");
});
