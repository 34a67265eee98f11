import assert from "node:assert/strict";
import { homedir } from "node:os";
import { test } from "node:test";
import { childEnvironment } from "../../src/host/environment.js";
import { locate, ServerMissingError } from "../../src/host/locating.js";
import { startServer } from "../../src/host/serverProcess.js";
import { waitFor } from "../../src/host/supervisor.js";
import { connect, type ClientHandlers } from "../../src/host/connection.js";
import { FakeLog } from "../support/surroundings.js";

const NONE = { command: "", arguments: ["serve"], environment: {} };
const at =
  (...paths: string[]) =>
  (path: string): Promise<boolean> =>
    Promise.resolve(paths.includes(path));

test("the program of the setting comes first, and what follows serve is not the program", async () => {
  const settings = { command: "uv", arguments: ["run", "acp-server", "serve", "--mode", "plan"], environment: {} };
  const launch = await locate(settings, { PATH: "/bin" }, at("/bin/uv", "/bin/acp-server"));
  assert.deepEqual(launch, {
    command: "/bin/uv",
    program: ["run", "acp-server"],
    serving: ["serve", "--mode", "plan"],
    environment: {},
  });
});

test("a program on the PATH comes before uvx", async () => {
  const launch = await locate(NONE, { PATH: "/bin" }, at("/bin/uvx", "/bin/acp-server"));
  assert.deepEqual([launch.command, launch.program, launch.serving], ["/bin/acp-server", [], ["serve"]]);
});

test("a program is found where installers put it, though the PATH lacks it", async () => {
  const path = `${homedir()}/.local/bin/acp-server`;
  assert.equal((await locate(NONE, { PATH: "/bin" }, at(path))).command, path);
});

test("uvx runs the package", async () => {
  const launch = await locate(NONE, { PATH: "/bin" }, at("/bin/uvx"));
  assert.deepEqual(launch.program, ["--from", "hermes-acp-server", "acp-server"]);
});

test("where nothing is there, the error says what to do", async () => {
  await assert.rejects(locate(NONE, { PATH: "" }, at()), (error) => {
    assert.ok(error instanceof ServerMissingError);
    assert.match(error.message, /uv tool install hermes-acp-server/);
    return true;
  });
});

test("children do not see the editor's own variables", () => {
  const editor = { PATH: "/bin", ELECTRON_RUN_AS_NODE: "1", VSCODE_PID: "3" };
  assert.deepEqual(childEnvironment(editor, { MORE: "x" }), { PATH: "/bin", MORE: "x" });
});

test("waits grow and stay below half a minute", () => {
  assert.deepEqual([1, 2, 3, 10].map(waitFor), [500, 1000, 2000, 30_000]);
});

const SILENT = {} as ClientHandlers;
const GREETER =
  "process.stdin.once('data', (line) => { const { id } = JSON.parse(line);" +
  "console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: 1 } })); });" +
  "console.error('ready'); process.stdin.on('end', () => process.exit(0));";

function launchOf(program: string): Parameters<typeof startServer>[0] {
  return { command: process.execPath, program: ["-e", program], serving: [], environment: {} };
}

test("a real process is greeted, traced in both directions, and leaves when its input ends", async () => {
  const log = new FakeLog();
  const server = startServer(launchOf(GREETER), process.cwd(), log, () => true);
  const connection = await connect(server.stream, SILENT, "1");
  assert.equal(connection.greeting.protocolVersion, 1);
  const directions = log.lines
    .filter((line) => line.startsWith("trace: "))
    .map((line) => (JSON.parse(line.slice(7)) as { direction: string }).direction);
  assert.deepEqual(directions, ["sent", "received"]);
  server.dispose();
  assert.deepEqual(await server.ended, { status: "exit code 0", lastWords: "ready" });
});

test("a process that fails at once says its last words", async () => {
  const program = "console.error('no key ring'); process.exit(4)";
  const server = startServer(launchOf(program), process.cwd(), new FakeLog(), () => false);
  await assert.rejects(connect(server.stream, SILENT, "1"));
  assert.deepEqual(await server.ended, { status: "exit code 4", lastWords: "no key ring" });
});

test("a program that cannot be started is an end too", async () => {
  const launch = { ...launchOf(""), command: "/no/such/program" };
  const server = startServer(launch, process.cwd(), new FakeLog(), () => false);
  const { status, lastWords } = await server.ended;
  assert.equal(status, "an error");
  assert.match(lastWords, /ENOENT/);
});
