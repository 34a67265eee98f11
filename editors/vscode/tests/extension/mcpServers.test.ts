/** VS Code's MCP servers: their form in the protocol, and the agreement before they are passed on. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { agreedServers, fileOf, reviewServers, type McpContext } from "../../src/extension/mcpServers.js";
import { FakeWorkspaceState } from "../support/fakes.js";
import { editor, resetEditor } from "../support/vscode.js";

const FILE = `{
  // VS Code's own form
  "inputs": [{"id": "token", "type": "promptString", "password": true, "description": "Your token"}, {"id": "cmd", "type": "command"}],
  "servers": {
    "files": {"command": "npx", "args": ["-y", "files", "\${workspaceFolder}/a // b"], "env": {"HOME_DIR": "\${env:MCP_TEST_HOME}"}},
    "docs": {"type": "http", "url": "https://example.com/mcp", "headers": {"A": "b"},},
    "secret": {"command": "x", "env": {"TOKEN": "\${input:token}"}},
    "unknown": {"command": "y", "args": ["\${input:none}", "\${input:cmd}"]},
    "other": {"command": "z", "args": ["\${command:pick}"]},
  },
}`;
const FILES = { name: "files", command: "npx", args: ["-y", "files", "/p/a // b"], env: [{ name: "HOME_DIR", value: "/home/me" }] };
const DOCS = { type: "http", name: "docs", url: "https://example.com/mcp", headers: [{ name: "A", value: "b" }] };

const SECRET = { name: "secret", command: "x", args: [], env: [{ name: "TOKEN", value: "s3cret" }] };

let agreements = 0;
let context: McpContext;
let secrets: Map<string, string>;
let state: FakeWorkspaceState;

beforeEach(() => {
  resetEditor();
  process.env["MCP_TEST_HOME"] = "/home/me";
  agreements = 0;
  secrets = new Map();
  state = new FakeWorkspaceState();
  const keeper = {
    get: (key: string) => Promise.resolve(secrets.get(key)),
    store: (key: string, value: string) => Promise.resolve(void secrets.set(key, value)),
    delete: (key: string) => Promise.resolve(void secrets.delete(key)),
  };
  context = { workspaceState: state, secrets: keeper, open: () => Promise.resolve(), onAgreed: () => (agreements += 1) };
});

/** Let the questions be answered. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("commands and addresses are translated, and servers with variables that nobody knows are left out", () => {
  const { servers, inputs } = fileOf(FILE, "/p");
  assert.deepEqual(servers.slice(0, 2), [FILES, DOCS]);
  assert.deepEqual(servers.slice(2).map(({ name }) => name), ["secret"]);
  assert.deepEqual(inputs, [{ id: "token", description: "Your token", defaultValue: "", isPassword: true, options: [] }]);
  const none = ["not JSON", "{}", '{"servers": {"a": 3, "b": {}}}'].flatMap((text) => fileOf(text, "/p").servers);
  assert.deepEqual(none, []);
});

test("servers are passed on only after the user has seen their commands and agreed", async () => {
  editor.picks = ["Review…"];
  assert.deepEqual(await agreedServers(FILE, "/p", context), []);
  await settled();
  assert.match(editor.calls[0] ?? "", /MCP servers for VS Code: files, docs, secret\./);
  assert.match(editor.calls[1] ?? "", /files: npx -y files \/p\/a \/\/ b\\ndocs: https:\/\/example\.com\/mcp\\nsecret: x\\n/);
  assert.deepEqual([agreements, await agreedServers(FILE, "/p", context)], [0, []]);
  await settled();
  editor.picks = ["Review…", "Start Servers"];
  assert.deepEqual(await agreedServers(FILE, "/p", context), []);
  await settled();
  assert.deepEqual([agreements, await agreedServers(FILE, "/p", context)], [1, [FILES, DOCS]]);
});

test("a value that a server needs is asked for; a password is kept as a secret", async () => {
  editor.picks = ["Start Servers"];
  editor.entered = "s3cret";
  await reviewServers(FILE, "/p", context);
  assert.match(editor.calls.at(-1) ?? "", /Your token.*"password\\?":true/);
  assert.deepEqual(await agreedServers(FILE, "/p", context), [FILES, DOCS, SECRET]);
  assert.deepEqual([...secrets.values()], ["s3cret"]);
  assert.ok(!JSON.stringify([...state.values]).includes("s3cret"));
  // Reviewed again, without a value: the old one is gone, and the server is left out.
  editor.picks = ["Start Servers"];
  editor.entered = undefined;
  await reviewServers(FILE, "/p", context);
  assert.deepEqual(await agreedServers(FILE, "/p", context), [FILES, DOCS]);
  assert.equal(secrets.size, 0);
});

test("what is asked names the server, or how many, and whether it is started or connected to; nothing but its button is a yes", async () => {
  const local = (name: string): string => `"${name}": {"command": "run-${name}"}`;
  const remote = (name: string): string => `"${name}": {"url": "https://${name}.example"}`;
  const ask = async (...servers: string[]): Promise<string> => {
    await reviewServers(`{"servers": {${servers.join()}}}`, "/p", context);
    return editor.calls.at(-1) ?? "";
  };
  const said = [await ask(local("a")), await ask(remote("a")), await ask(local("a"), local("b")), await ask(remote("a"), remote("b")), await ask(local("a"), remote("b"))];
  const questions = said.map((each) => /warning (.*\?) \[/.exec(each)?.[1]?.replace(" from .vscode/mcp.json", ""));
  assert.deepEqual(questions, [
    ...["Start the MCP server “a”?", "Connect to the MCP server “a”?", "Start the 2 MCP servers?"],
    ...["Connect to the 2 MCP servers?", "Start or connect to the 2 MCP servers?"],
  ]);
  assert.match(said[0] ?? "", /"a: run-a\\n\\n“Start Server” is remembered in this workspace.*\{"title":"Start Server"\}.*\{"title":"Don't Start","isCloseAffordance":true\}/);
  assert.match(said[1] ?? "", /"a: https:\/\/a\.example\\n.*\{"title":"Connect"\}.*\{"title":"Don't Connect","isCloseAffordance":true\}/);
  assert.equal(agreements, 0);
});

test("an agreement ends with a later refusal", async () => {
  const file = `{"servers": {"s": {"command": "x"}}}`;
  editor.picks = ["Start Server"];
  await reviewServers(file, "/p", context);
  assert.equal((await agreedServers(file, "/p", context)).length, 1);
  editor.picks = ["Don't Start"];
  await reviewServers(file, "/p", context);
  assert.deepEqual([agreements, await agreedServers(file, "/p", context)], [1, []]);
});

test("a value is chosen from those that the file lists", async () => {
  const file = `{"inputs": [{"id": "level", "type": "pickString", "options": ["low", {"label": "High", "value": "high"}]}],
    "servers": {"s": {"command": "x", "args": ["--level", "\${input:level}"]}}}`;
  editor.picks = ["Start Server", "high"];
  await reviewServers(file, "/p", context);
  assert.deepEqual(await agreedServers(file, "/p", context), [{ name: "s", command: "x", args: ["--level", "high"], env: [] }]);
});

test("without a file of servers, the review says so", async () => {
  await reviewServers("", "/p", context);
  assert.match(editor.calls[0] ?? "", /no MCP servers/);
});

test("a changed list is asked about again, and a refusal holds for exactly its list", async () => {
  editor.picks = ["Not in This Workspace"];
  await agreedServers(FILE, "/p", context);
  await settled();
  const asked = editor.calls.length;
  assert.deepEqual(await agreedServers(FILE, "/p", context), []);
  await settled();
  assert.equal(editor.calls.length, asked);
  await agreedServers(FILE.replace("files", "other"), "/p", context);
  await settled();
  assert.ok(editor.calls.length > asked);
});
