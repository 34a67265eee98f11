// Provides an MCP server over the ACP connection with the official TypeScript SDK, and lets the agent
// call its tool. Prints, as one JSON object, what the server was asked, what the user was asked, and
// all updates. Arguments: the folder with node_modules, the workspace, and the server's command.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [clients, cwd, command, ...args] = process.argv.slice(2);
const load = async (name) =>
  import(pathToFileURL(createRequire(`${clients}/`).resolve(`@agentclientprotocol/sdk${name}`)).href);
const { client, McpOverAcpProvider, methods, ndJsonStream, PROTOCOL_VERSION } =
  await load("/unstable");

const requests = [];
const questions = [];
const updates = [];
const answers = [];

const tool = {
  name: "echo",
  description: "Repeats a text.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

// A server of MCP 2026-07-28, by hand: every request stands for itself.
async function handler({ method, params, requestId, clientInfo, notify }) {
  requests.push([method, clientInfo.name]);
  switch (method) {
    case "server/discover":
      return {
        result: {
          resultType: "complete",
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: {} },
        },
      };
    case "tools/list":
      return { result: { resultType: "complete", tools: [tool] } };
    case "tools/call": {
      const progress = { progressToken: requestId, progress: 1, total: 1, message: "half way" };
      await notify("notifications/progress", progress);
      const content = [{ type: "text", text: `echo: ${params.arguments.text}` }];
      return { result: { resultType: "complete", content } };
    }
    default:
      return { error: { code: -32601, message: "Method not found" } };
  }
}

const server = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(server.stdin), Readable.toWeb(server.stdout));
const provider = new McpOverAcpProvider();
const app = client({ name: "smoke" })
  .onRequest(methods.client.mcp.message, provider.handleRequest)
  .onNotification(methods.client.session.update, ({ params }) => updates.push(params.update))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    questions.push(params.toolCall.title);
    const { optionId } = params.options.find(({ kind }) => kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  });

await app.connectWith(stream, async (agent) => {
  const { agentCapabilities } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  answers.push(agentCapabilities.mcpCapabilities);
  const tools = provider.registerServer(agent, { name: "tools", handler });
  const { sessionId } = await agent.request(methods.agent.session.new, {
    cwd,
    mcpServers: [tools.declaration],
  });
  const prompt = async (text) => {
    const asked = { sessionId, prompt: [{ type: "text", text }] };
    answers.push((await agent.request(methods.agent.session.prompt, asked)).stopReason);
  };
  await prompt("first");
  await tools.dispose();
  await prompt("second");
});

server.stdin.end();
if (server.exitCode === null) await once(server, "exit");
console.log(JSON.stringify({ answers, requests, questions, updates }));
