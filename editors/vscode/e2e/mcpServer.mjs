// An MCP server with one tool, for the tests in VS Code.
import { createInterface } from "node:readline";

const TOOL = { name: "now", description: "Tells the time.", inputSchema: { type: "object", properties: {} } };
const ANSWERS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "clock", version: "1" } }),
  "tools/list": () => ({ tools: [TOOL] }),
  "tools/call": () => ({ content: [{ type: "text", text: "noon" }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: ANSWERS[method]?.(params) ?? {} })}\n`);
});
