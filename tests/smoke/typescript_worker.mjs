// Lets a server work with the official TypeScript SDK: files, terminals and permissions are the
// client's. Prints, as one JSON object, what the client was asked to do, in order, and all updates.
// Arguments: the folder with node_modules, the workspace, and the server's command.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [clients, cwd, command, ...args] = process.argv.slice(2);
const sdk = createRequire(`${clients}/`).resolve("@agentclientprotocol/sdk");
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import(pathToFileURL(sdk).href);
const { fs, terminal, session } = methods.client;

const asked = [];
const updates = [];
const terminals = new Map();
const server = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(server.stdin), Readable.toWeb(server.stdout));

// Starts a command and gathers what it prints.
function open({ command, args, env, cwd }) {
  const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const child = spawn(command, args, { cwd, env: { ...process.env, ...added } });
  const opened = { output: "", exit: once(child, "close") };
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.on("data", (data) => { opened.output += data; });
  }
  terminals.set("terminal 1", opened);
  return { terminalId: "terminal 1" };
}

async function exitOf(terminalId) {
  const [exitCode, signal] = await terminals.get(terminalId).exit;
  return { exitCode, signal };
}

const handlers = {
  [fs.readTextFile]: async ({ path }) => ({ content: await readFile(path, "utf8") }),
  [fs.writeTextFile]: async ({ path, content }) => {
    await writeFile(path, content);
    return {};
  },
  [terminal.create]: open,
  [terminal.waitForExit]: ({ terminalId }) => exitOf(terminalId),
  [terminal.output]: async ({ terminalId }) => ({
    output: terminals.get(terminalId).output,
    truncated: false,
    exitStatus: await exitOf(terminalId),
  }),
  [terminal.release]: ({ terminalId }) => {
    terminals.delete(terminalId);
    return {};
  },
  [session.requestPermission]: ({ options }) => {
    const { optionId } = options.find(({ kind }) => kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  },
};

const app = client({ name: "worker" });
app.onNotification(session.update, ({ params }) => updates.push(params.update));
for (const [method, answer] of Object.entries(handlers)) {
  app.onRequest(method, ({ params }) => {
    asked.push([method, params]);
    return answer(params);
  });
}

const { agent } = methods;
const stopReason = await app.connectWith(stream, async (connection) => {
  await connection.request(agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });
  const { sessionId } = await connection.request(agent.session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "go" }];
  return (await connection.request(agent.session.prompt, { sessionId, prompt })).stopReason;
});

server.stdin.end();
if (server.exitCode === null) await once(server, "exit");
console.log(JSON.stringify({ asked, updates, stopReason, left: [...terminals.keys()] }));
