/** What a command of the server's program answers, and why it has failed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "../../src/host/contextReport.js";
import type { ServerCommand } from "../../src/host/serverLocator.js";

const program = (script: string): ServerCommand => ({ command: process.execPath, programArguments: ["-e", script], serveArguments: [], environment: {} });

test("a command's output is returned", async () => {
  assert.equal(await runCommand(program("console.log(process.argv[1])"), ["list"], "/"), "list\n");
});

test("a failed command is told by what it has said, not by its command line", async () => {
  const failed = runCommand(program("console.error('no such skill'); process.exit(2)"), ["list"], "/");
  await assert.rejects(failed, { message: "no such skill" });
});
