/** VS Code's MCP servers: their form in the protocol, and the agreement before they are passed on. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { agreedServers, serversIn, type McpContext } from "../../src/extension/mcpServers.js";
import { FakeWorkspaceState } from "../support/fakes.js";
import { editor, resetEditor } from "../support/vscode.js";

const FILE = `{
  // VS Code's own form
  "inputs": [{"id": "token", "type": "promptString"}],
  "servers": {
    "files": {"command": "npx", "args": ["-y", "files", "\${workspaceFolder}/a // b"], "env": {"HOME_DIR": "\${env:MCP_TEST_HOME}"}},
    "docs": {"type": "http", "url": "https://example.com/mcp", "headers": {"A": "b"},},
    "secret": {"command": "x", "env": {"TOKEN": "\${input:token}"}},
  },
}`;
const FILES = { name: "files", command: "npx", args: ["-y", "files", "/p/a // b"], env: [{ name: "HOME_DIR", value: "/home/me" }] };
const DOCS = { type: "http", name: "docs", url: "https://example.com/mcp", headers: [{ name: "A", value: "b" }] };

let agreements = 0;
let context: McpContext;

beforeEach(() => {
  resetEditor();
  process.env["MCP_TEST_HOME"] = "/home/me";
  agreements = 0;
  context = { workspaceState: new FakeWorkspaceState(), open: () => Promise.resolve(), onAgreed: () => (agreements += 1) };
});

/** Let the questions be answered. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("commands and addresses are translated, and servers that need an input are left out", () => {
  assert.deepEqual(serversIn(FILE, "/p"), [FILES, DOCS]);
  assert.deepEqual([serversIn("not JSON", "/p"), serversIn("{}", "/p"), serversIn('{"servers": {"a": 3, "b": {}}}', "/p")], [[], [], []]);
});

test("servers are passed on only after the user has seen their commands and agreed", async () => {
  editor.picks = ["Review…"];
  assert.deepEqual(agreedServers(FILE, "/p", context), []);
  await settled();
  assert.match(editor.calls[0] ?? "", /MCP servers for VS Code: files, docs\./);
  assert.match(editor.calls[1] ?? "", /files: npx -y files \/p\/a \/\/ b\\ndocs: https:\/\/example\.com\/mcp/);
  assert.deepEqual([agreements, agreedServers(FILE, "/p", context)], [0, []]);
  await settled();
  editor.picks = ["Review…", "Use Them"];
  assert.deepEqual(agreedServers(FILE, "/p", context), []);
  await settled();
  assert.deepEqual([agreements, agreedServers(FILE, "/p", context)], [1, [FILES, DOCS]]);
});

test("a changed list is asked about again, and a refusal holds for exactly its list", async () => {
  editor.picks = ["Not in This Workspace"];
  agreedServers(FILE, "/p", context);
  await settled();
  const asked = editor.calls.length;
  assert.deepEqual(agreedServers(FILE, "/p", context), []);
  await settled();
  assert.equal(editor.calls.length, asked);
  agreedServers(FILE.replace("files", "other"), "/p", context);
  await settled();
  assert.ok(editor.calls.length > asked);
});
