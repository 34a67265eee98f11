// An agent process that speaks JSON lines without the SDK. A prompt names the action to perform.
import { createInterface } from "node:readline";

const received = [];
const waiting = new Map();
let lastId = 0;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const ask = (method, params) =>
  new Promise((resolve) => {
    lastId += 1;
    waiting.set(lastId, resolve);
    send({ id: lastId, method, params });
  });

const ACTIONS = {
  async edit({ sessionId, path }) {
    const { content } = await ask("fs/read_text_file", { sessionId, path });
    await ask("fs/write_text_file", { sessionId, path, content: content.replace("old", "new") });
    return content;
  },
  async run({ sessionId }) {
    const request = { sessionId, command: process.execPath, args: ["-p", "'x'.repeat(5000)"], outputByteLimit: 100 };
    const { terminalId } = await ask("terminal/create", request);
    await ask("terminal/wait_for_exit", { sessionId, terminalId });
    const { output, truncated } = await ask("terminal/output", { sessionId, terminalId });
    await ask("terminal/release", { sessionId, terminalId });
    return { length: output.length, truncated };
  },
  async permission({ sessionId }) {
    const options = [
      { optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ];
    const toolCall = { toolCallId: "c1", title: "Edit it [now](command:quit)" };
    return ask("session/request_permission", { sessionId, toolCall, options });
  },
  received: () => received,
};

const ANSWERS = {
  initialize: () => ({ protocolVersion: 1, agentInfo: { name: "process", version: "1" }, agentCapabilities: {} }),
  "session/new": () => ({ sessionId: "s" }),
  async "session/prompt"({ sessionId, prompt }) {
    const [name, path] = prompt[0].text.split(" ");
    const result = await ACTIONS[name]({ sessionId, path });
    const content = { type: "text", text: JSON.stringify(result) };
    send({ method: "session/update", params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content } } });
    return { stopReason: "end_turn" };
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) return waiting.get(id)?.(result);
  if (id === undefined) return received.push([method, params]);
  send({ id, result: await ANSWERS[method]?.(params) ?? {} });
});
