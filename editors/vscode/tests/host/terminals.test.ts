import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedOutput } from "../../src/host/boundedOutput.js";
import { Terminals } from "../../src/host/terminals.js";
import type { SessionEvent } from "../../src/shared/events.js";
import { FakePanel } from "../support/surroundings.js";

const node = process.execPath;

function shell(): { terminals: Terminals; panel: FakePanel; events: SessionEvent[] } {
  const panel = new FakePanel();
  const events: SessionEvent[] = [];
  return { terminals: new Terminals(panel, (_, event) => events.push(event)), panel, events };
}

const ask = (program: string): { sessionId: string; command: string; args: string[] } => ({
  sessionId: "s",
  command: node,
  args: ["-e", program],
});

test("a command's output, exit and environment arrive", async () => {
  const { terminals, panel, events } = shell();
  const env = [{ name: "GREETING", value: "hé" }];
  const { terminalId } = await terminals.create({
    ...ask("console.log(process.env.GREETING); process.exitCode = 3"),
    env,
  });
  const of = { sessionId: "s", terminalId };
  assert.deepEqual(await terminals.wait(of), { exitCode: 3, signal: null });
  assert.deepEqual(terminals.output(of), {
    output: "hé\n",
    truncated: false,
    exitStatus: { exitCode: 3, signal: null },
  });
  assert.deepEqual(panel.told.slice(1), ["print hé\n", "end exit code 3"]);
  assert.deepEqual(events.at(-1), {
    type: "terminalEnded",
    id: terminalId,
    exit: { exitCode: 3, signal: null },
  });
});

test("a command that reads finds the end of its input", async () => {
  const { terminals } = shell();
  const { terminalId } = await terminals.create(ask("process.stdin.resume()"));
  assert.equal((await terminals.wait({ sessionId: "s", terminalId })).exitCode, 0);
});

test("killing a command ends what it started, and its output stays", async () => {
  const { terminals } = shell();
  const program =
    "const { spawn } = require('node:child_process');" +
    "const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });" +
    "console.log(child.pid); setInterval(() => {}, 1000)";
  const { terminalId } = await terminals.create(ask(program));
  const of = { sessionId: "s", terminalId };
  while (!terminals.output(of).output.includes("\n")) await new Promise(setImmediate);
  const grandchild = Number(terminals.output(of).output);
  terminals.kill(of);
  assert.equal((await terminals.wait(of)).signal, "SIGTERM");
  await gone(grandchild);
  assert.equal(Number(terminals.output(of).output), grandchild);
});

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise(setImmediate);
  }
}

test("a terminal is called what its shell runs, not what prepares that", async () => {
  const { terminals, panel } = shell();
  const args = ["-u", "SECRET", "sh", "-c", "exec </dev/null; true"];
  await terminals.create({ sessionId: "s", command: "env", args });
  assert.equal(panel.told[0], "open true");
});

test("Ctrl+C in the terminal ends its command", async () => {
  const { terminals, panel } = shell();
  const { terminalId } = await terminals.create(ask("setInterval(() => {}, 1000)"));
  panel.interrupt();
  assert.equal((await terminals.wait({ sessionId: "s", terminalId })).signal, "SIGTERM");
});

test("a terminal that was released is not there any more", async () => {
  const { terminals, panel } = shell();
  const { terminalId } = await terminals.create(ask("setInterval(() => {}, 1000)"));
  const of = { sessionId: "s", terminalId };
  const ended = terminals.wait(of);
  terminals.release(of);
  assert.throws(() => terminals.output(of), { code: -32002 });
  assert.equal((await ended).signal, "SIGTERM");
  assert.ok(panel.told.includes("release"));
});

test("another session's terminal is not there", async () => {
  const { terminals } = shell();
  const { terminalId } = await terminals.create(ask(""));
  assert.throws(() => terminals.output({ sessionId: "other", terminalId }), { code: -32002 });
});

test("a command that does not exist is an error with its name", async () => {
  const { terminals } = shell();
  const request = { sessionId: "s", command: "/no/such/program" };
  await assert.rejects(terminals.create(request), { code: -32603 });
});

test("output is bounded by bytes, without half a character, and its end is kept", () => {
  const output = new BoundedOutput(5);
  output.add(Buffer.from("aé"));
  assert.deepEqual([output.text(), output.isTruncated], ["aé", false]);
  output.add(Buffer.from("éé"));
  assert.deepEqual([output.text(), output.isTruncated], ["éé", true]);
});

test("much output is not all held", () => {
  const output = new BoundedOutput(1000);
  for (let round = 0; round < 10_000; round += 1) output.add(Buffer.alloc(1000, "x"));
  output.add(Buffer.from("end"));
  assert.equal(output.text().length, 1000);
  assert.ok(output.text().endsWith("end"));
});
