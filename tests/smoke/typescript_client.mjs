// Takes a server through a session with the official TypeScript SDK, and prints what the client
// saw, in order, as one JSON array. Arguments: the folder with node_modules, the workspace, and the
// server's command.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [clients, cwd, command, ...args] = process.argv.slice(2);
const sdk = createRequire(`${clients}/`).resolve("@agentclientprotocol/sdk");
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import(pathToFileURL(sdk).href);
const { session } = methods.agent;

const seen = [];
const server = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(server.stdin), Readable.toWeb(server.stdout));

let onUpdate = () => {};
const app = client({ name: "smoke" })
  .onNotification(methods.client.session.update, ({ params }) => {
    seen.push(["update", params]);
    onUpdate(params.update);
  })
  .onRequest("*", ({ method }) => {
    seen.push(["unexpected request", method]);
    throw new Error("the server asked for something that was not advertised");
  });

await app.connectWith(stream, async (agent) => {
  // Notes down the answer; the updates that follow it at once are waited for by their number.
  async function ask(method, params, updatesAfter = 0) {
    const followers = updatesAfter ? nextUpdates(updatesAfter, method) : Promise.resolve();
    try {
      const result = await agent.request(method, params);
      seen.push([method, result]);
      await followers;
      return result;
    } catch ({ code, message, data }) {
      seen.push([`${method} failed`, { code, message, data }]);
      return null;
    }
  }

  function nextUpdates(count) {
    return new Promise((resolve) => {
      onUpdate = () => {
        count -= 1;
        if (count === 0) resolve();
      };
    });
  }

  const text = (words) => [{ type: "text", text: words }];

  await ask(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name: "smoke", version: "1" },
  });
  const { sessionId } = await ask(session.new, { cwd, mcpServers: [] }, 1);
  await ask(session.prompt, { sessionId, prompt: text("hello") });
  await ask(session.setMode, { sessionId, modeId: "plan" }, 1);
  const choice = { sessionId, configId: "mode", value: "accept_edits" };
  await ask(session.setConfigOption, choice, 1);

  onUpdate = ({ sessionUpdate }) => {
    if (sessionUpdate === "agent_message_chunk") agent.notify(session.cancel, { sessionId });
  };
  await ask(session.prompt, { sessionId, prompt: text("wait") });
  onUpdate = () => {};

  await ask(session.prompt, { sessionId, prompt: text("hello again") });
  await ask(session.close, { sessionId });
  await ask(session.prompt, { sessionId, prompt: text("anyone?") });
});

server.stdin.end();
const [exitCode] = server.exitCode === null ? await once(server, "exit") : [server.exitCode];
seen.push(["exit code", exitCode]);
console.log(JSON.stringify(seen));
