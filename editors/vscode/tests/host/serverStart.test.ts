import assert from "node:assert/strict";
import { homedir } from "node:os";
import { test } from "node:test";
import { childEnvironment } from "../../src/host/environment.js";
import { locateServer, locateUv, ServerMissingError } from "../../src/host/serverLocator.js";
import { startServer } from "../../src/host/serverProcess.js";
import { backoffMilliseconds } from "../../src/host/serverSupervisor.js";
import { connect, ConnectionClosedError, type ClientHandlers } from "../../src/host/connection.js";
import { FakeLog } from "../support/fakes.js";

const EMPTY_SETTINGS = { command: "", arguments: ["serve"], environment: {} };
const existsOnlyAt =
  (...paths: string[]) =>
  (path: string): Promise<boolean> =>
    Promise.resolve(paths.includes(path));

test("the program in the setting comes first, and arguments from serve on are separate", async () => {
  const settings = { command: "uv", arguments: ["run", "acp-server", "serve", "--mode", "plan"], environment: {} };
  const serverCommand = await locateServer(settings, { PATH: "/bin" }, existsOnlyAt("/bin/uv", "/bin/acp-server"));
  assert.deepEqual(serverCommand, {
    command: "/bin/uv",
    programArguments: ["run", "acp-server"],
    serveArguments: ["serve", "--mode", "plan"],
    environment: {},
  });
});

test("a program on the PATH is started", async () => {
  const serverCommand = await locateServer(EMPTY_SETTINGS, { PATH: "/bin" }, existsOnlyAt("/bin/acp-server"));
  assert.deepEqual([serverCommand.command, serverCommand.programArguments, serverCommand.serveArguments], ["/bin/acp-server", [], ["serve"]]);
});

test("a program is found in the usual install directories even if the PATH lacks them", async () => {
  const path = `${homedir()}/.local/bin/acp-server`;
  assert.equal((await locateServer(EMPTY_SETTINGS, { PATH: "/bin" }, existsOnlyAt(path))).command, path);
});

test("nothing is downloaded unasked: without the program, uv alone is not enough", async () => {
  await assert.rejects(locateServer(EMPTY_SETTINGS, { PATH: "/bin" }, existsOnlyAt("/bin/uv", "/bin/uvx")), ServerMissingError);
  assert.equal(await locateUv({ PATH: "/bin" }, existsOnlyAt("/bin/uv")), "/bin/uv");
  assert.equal(await locateUv({ PATH: "/bin" }, existsOnlyAt()), null);
});

test("children do not see the editor's own variables", () => {
  const editor = { PATH: "/bin", ELECTRON_RUN_AS_NODE: "1", VSCODE_PID: "3" };
  assert.deepEqual(childEnvironment(editor, { MORE: "x" }), { PATH: "/bin", MORE: "x" });
});

test("secrets are neither in the log nor in what is shown when the server cannot start", async () => {
  const log = new FakeLog();
  const program = "console.error('bad ' + process.env.SOME_API_KEY + ' sk-ant-abcdefghijklmnop'); process.exit(3)";
  const command = { ...nodeCommand(program), environment: { SOME_API_KEY: "hunter2hunter2" } };
  const { stderrTail } = await startServer(command, process.cwd(), log, () => false).exited;
  assert.equal(stderrTail, "bad *** ***");
  assert.doesNotMatch(log.lines.join("\n"), /hunter2|abcdef/);
});

test("delays grow up to half a minute", () => {
  assert.deepEqual([1, 2, 3, 10].map(backoffMilliseconds), [500, 1000, 2000, 30_000]);
});

const NO_HANDLERS = {} as ClientHandlers;
const INITIALIZING_PROGRAM =
  "process.stdin.once('data', (line) => { const { id } = JSON.parse(line);" +
  "console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: 1 } })); });" +
  "console.error('ready'); process.stdin.on('end', () => process.exit(0));";

function nodeCommand(program: string): Parameters<typeof startServer>[0] {
  return { command: process.execPath, programArguments: ["-e", program], serveArguments: [], environment: {} };
}

test("a real process is initialized, traced in both directions, and exits when its input closes", async () => {
  const log = new FakeLog();
  const server = startServer(nodeCommand(INITIALIZING_PROGRAM), process.cwd(), log, () => true);
  const connection = await connect(server.stream, NO_HANDLERS, "1");
  assert.equal(connection.initializeResponse.protocolVersion, 1);
  const directions = log.lines
    .filter((line) => line.startsWith("trace: "))
    .map((line) => (JSON.parse(line.slice(7)) as { direction: string }).direction);
  assert.deepEqual(directions, ["sent", "received"]);
  server.dispose();
  assert.deepEqual(await server.exited, { status: "exit code 0", stderrTail: "ready" });
});

test("a process that fails at once reports its last error output", async () => {
  const program = "console.error('no key ring'); process.exit(4)";
  const server = startServer(nodeCommand(program), process.cwd(), new FakeLog(), () => false);
  await assert.rejects(connect(server.stream, NO_HANDLERS, "1"), ConnectionClosedError);
  assert.deepEqual(await server.exited, { status: "exit code 4", stderrTail: "no key ring" });
});

test("a program that cannot be started is reported as an exit", async () => {
  const serverCommand = { ...nodeCommand(""), command: "/no/such/program" };
  const server = startServer(serverCommand, process.cwd(), new FakeLog(), () => false);
  const { status, stderrTail } = await server.exited;
  assert.equal(status, "an error");
  assert.match(stderrTail, /ENOENT/);
});
