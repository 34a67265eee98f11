import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedOutput } from "../../src/host/boundedOutput.js";
import { TerminalManager } from "../../src/host/terminalManager.js";
import type { SessionEvent } from "../../src/shared/events.js";
import { FakeTerminalPanel } from "../support/fakes.js";

const node = process.execPath;

function setUp(): { terminals: TerminalManager; panel: FakeTerminalPanel; events: SessionEvent[] } {
  const panel = new FakeTerminalPanel();
  const events: SessionEvent[] = [];
  return { terminals: new TerminalManager(panel, (_, event) => events.push(event)), panel, events };
}

const ask = (program: string): { sessionId: string; command: string; args: string[] } => ({
  sessionId: "s",
  command: node,
  args: ["-e", program],
});

test("a command gets its environment, and its output and exit status are reported", async () => {
  const { terminals, panel, events } = setUp();
  const env = [{ name: "GREETING", value: "hé" }];
  const { terminalId } = await terminals.create({
    ...ask("console.log(process.env.GREETING); process.exitCode = 3"),
    env,
  });
  const terminal = { sessionId: "s", terminalId };
  assert.deepEqual(await terminals.wait(terminal), { exitCode: 3, signal: null });
  assert.deepEqual(terminals.output(terminal), {
    output: "hé\n",
    truncated: false,
    exitStatus: { exitCode: 3, signal: null },
  });
  assert.deepEqual(panel.calls.slice(1), ["print hé\n", "end exit code 3"]);
  assert.deepEqual(events.at(-1), {
    type: "terminalEnded",
    id: terminalId,
    exit: { exitCode: 3, signal: null },
  });
});

test("a command that reads its input gets end of file", async () => {
  const { terminals } = setUp();
  const { terminalId } = await terminals.create(ask("process.stdin.resume()"));
  assert.equal((await terminals.wait({ sessionId: "s", terminalId })).exitCode, 0);
});

test("killing a command kills its children, and its output stays", async () => {
  const { terminals } = setUp();
  const program =
    "const { spawn } = require('node:child_process');" +
    "const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });" +
    "console.log(child.pid); setInterval(() => {}, 1000)";
  const { terminalId } = await terminals.create(ask(program));
  const terminal = { sessionId: "s", terminalId };
  while (!terminals.output(terminal).output.includes("\n")) await moment();
  const grandchild = Number(terminals.output(terminal).output);
  terminals.kill(terminal);
  assert.equal((await terminals.wait(terminal)).signal, "SIGTERM");
  await gone(grandchild);
  assert.equal(Number(terminals.output(terminal).output), grandchild);
});

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await moment();
  }
}

/** Let the other process work: to ask all the time would keep a processor from it. */
const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

test("a terminal's title is the shell's script without its preparation", async () => {
  const { terminals, panel } = setUp();
  const args = ["-u", "SECRET", "sh", "-c", "exec </dev/null; true"];
  await terminals.create({ sessionId: "s", command: "env", args });
  assert.equal(panel.calls[0], "open true");
});

test("Ctrl+C in the terminal stops its command", async () => {
  const { terminals, panel } = setUp();
  const { terminalId } = await terminals.create(ask("setInterval(() => {}, 1000)"));
  panel.interrupt();
  assert.equal((await terminals.wait({ sessionId: "s", terminalId })).signal, "SIGTERM");
});

test("a released terminal no longer exists", async () => {
  const { terminals, panel } = setUp();
  const { terminalId } = await terminals.create(ask("setInterval(() => {}, 1000)"));
  const terminal = { sessionId: "s", terminalId };
  const ended = terminals.wait(terminal);
  terminals.release(terminal);
  assert.throws(() => terminals.output(terminal), { code: -32002 });
  assert.equal((await ended).signal, "SIGTERM");
  assert.ok(panel.calls.includes("release"));
});

test("another session's terminal is not found", async () => {
  const { terminals } = setUp();
  const { terminalId } = await terminals.create(ask(""));
  assert.throws(() => terminals.output({ sessionId: "other", terminalId }), { code: -32002 });
});

test("a command that does not exist is an error with its name", async () => {
  const { terminals } = setUp();
  const request = { sessionId: "s", command: "/no/such/program" };
  await assert.rejects(terminals.create(request), { code: -32603 });
});

test("output is bounded in bytes, never splits a character, and keeps its end", () => {
  const output = new BoundedOutput(5);
  output.add(Buffer.from("aé"));
  assert.deepEqual([output.text(), output.isTruncated], ["aé", false]);
  output.add(Buffer.from("éé"));
  assert.deepEqual([output.text(), output.isTruncated], ["éé", true]);
});

test("large output is not held completely", () => {
  const output = new BoundedOutput(1000);
  for (let round = 0; round < 10_000; round += 1) output.add(Buffer.alloc(1000, "x"));
  output.add(Buffer.from("end"));
  assert.equal(output.text().length, 1000);
  assert.ok(output.text().endsWith("end"));
});
