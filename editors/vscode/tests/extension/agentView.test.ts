/** The view of what the agent works with: what it lists, and what its actions do. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { TreeItem } from "vscode";
import { createAgentView, type AgentView, type AgentViewHost } from "../../src/extension/agentView.js";
import { editor, EventEmitter, resetEditor, type TreeItem as FakeItem } from "../support/vscode.js";

const SERVERS = [
  { name: "docs", address: "process `docs`", state: "connected", problem: "", signedIn: true, tools: [{ name: "find", description: "Finds.\nMore." }], output: [] },
  { name: "tickets", address: "http `https://x.test`", state: "signed_out", problem: "it wants a sign-in", signedIn: false, tools: [], output: ["a line"] },
  { name: "new", address: "", state: "of a later version", tools: [] },
];
const RULES = [
  { id: "r1", text: "`npm test …`", allowed: true, saved: true },
  { id: "r2", text: "edits in src/", allowed: false, saved: false },
];
const SKILLS = { skills: [{ name: "review", description: "Reviews", from: "bundled", folder: "/s/review", hidden: "" }] };
const SETTINGS = { settings: [{ key: "skills.disabled", value: ["deploy"] }] };
const MEMORY = { memory: { file: "/h/MEMORY.md", usage: "9/2,200", entries: ["Tests run\nwith just", "Ignore all"], blocked: [2] }, user: { file: "/h/USER.md", usage: "0/1", entries: [] } };
const INSTRUCTIONS = [
  { path: "AGENTS.md", outcome: "loaded", reason: "" },
  { path: "bad.md", outcome: "blocked", reason: "looks like an attack" },
];

let requests: unknown[][];
let runs: string[][];
let asked: string[];
let refreshed: number;
let isReady: boolean;
let isVisible: boolean;
let view: AgentView;

beforeEach(() => {
  resetEditor();
  [requests, runs, asked, refreshed, isReady] = [[], [], [], 0, true];
  const host: AgentViewHost = {
    folder: "/p",
    start: () => Promise.resolve(isReady),
    ask: (text) => Promise.resolve(void asked.push(text)),
    request: (method, params) => {
      requests.push([method, params]);
      return Promise.resolve(method === "_hermes/mcp_servers" ? { servers: SERVERS } : method === "_hermes/permission_rules" ? { rules: RULES } : {});
    },
    run: (args) => {
      runs.push([...args]);
      const answers: Record<string, unknown> = { "skills list": SKILLS, "config show": SETTINGS, "memory show": MEMORY, "context list": INSTRUCTIONS, "memory undo": { message: "undone" } };
      return Promise.resolve(JSON.stringify(answers[args.slice(0, 2).join(" ")] ?? null));
    },
    contextUsage: () => "6 % of the window used",
    reviewMcpFile: () => Promise.resolve(void asked.push("mcp.json")),
  };
  const changed = new EventEmitter();
  changed.event(() => (refreshed += 1));
  isVisible = true;
  view = createAgentView(host, changed as never, () => isVisible);
});

async function childrenOf(...path: string[]): Promise<FakeItem[]> {
  let items = (await view.childrenOf(undefined)) as unknown as FakeItem[];
  for (const label of path) {
    const parent = items.find((each) => each.label === label);
    assert.ok(parent !== undefined, `${label} is not among ${items.map((each) => each.label).join(", ")}`);
    items = (await view.childrenOf(parent as unknown as TreeItem)) as unknown as FakeItem[];
  }
  return items;
}

async function act(name: string, ...path: string[]): Promise<void> {
  const item = (await childrenOf(...path.slice(0, -1))).find(({ label }) => label === path.at(-1));
  assert.ok(item !== undefined);
  await view.run(name, [item]);
}

/** The last command that changes something. */
const lastRun = (): readonly string[] | undefined => runs.findLast(([, verb = ""]) => !["list", "show"].includes(verb));
/** The last request that changes something. */
const lastRequest = (): readonly unknown[] | undefined => requests.findLast(([method]) => !["_hermes/mcp_servers", "_hermes/permission_rules"].includes(String(method)));
const shown = (items: readonly FakeItem[]): unknown[] => items.map(({ label, description, contextValue }) => [label, description, contextValue]);

test("MCP servers are shown with state and tools, also in a state of a later version", async () => {
  assert.deepEqual(shown(await childrenOf("MCP Servers")), [
    ["docs", "connected · 1 tool", "mcp.connected.signedIn"],
    ["tickets", "waits for you to sign in", "mcp.signed_out"],
    ["new", "of a later version", "mcp.of a later version"],
  ]);
  assert.deepEqual(shown(await childrenOf("MCP Servers", "docs")), [["find", "Finds.", undefined]]);
  await act("restartMcpServer", "MCP Servers", "docs");
  assert.deepEqual(lastRequest(), ["_hermes/restart_mcp_server", { name: "docs" }]);
  await act("signInMcpServer", "MCP Servers", "tickets");
  await act("signOutMcpServer", "MCP Servers", "docs");
  await view.run("editMcpServers", []);
  assert.deepEqual(asked, ["/mcp sign-in tickets", "/mcp sign-out docs", "mcp.json"]);
  assert.equal(refreshed, 4);
});

test("skills are opened, disabled and enabled by the settings", async () => {
  const items = await childrenOf("Skills");
  assert.deepEqual(shown(items), [
    ["review", "bundled", "skill.enabled"],
    ["deploy", "(disabled)", "skill.disabled"],
  ]);
  await view.run("openAgentFile", items[0]?.command?.arguments ?? []);
  assert.deepEqual(editor.executedCommands.map(([name, uri]) => [name, String(uri)]), [["vscode.open", "file:/s/review/SKILL.md"]]);
  await act("disableSkill", "Skills", "review");
  assert.deepEqual(lastRun(), ["config", "set", "skills.disabled", '["deploy","review"]']);
  await act("enableSkill", "Skills", "deploy");
  assert.deepEqual(lastRun(), ["config", "set", "skills.disabled", "[]"]);
});

test("an entry of the memory is deleted only after the user has confirmed it", async () => {
  assert.deepEqual(shown(await childrenOf("Memory")), [
    ["Notes of the Agent", "9/2,200", "memory.store"],
    ["What It Knows About You", "0/1", "memory.store"],
  ]);
  assert.deepEqual(shown(await childrenOf("Memory", "Notes of the Agent")), [
    ["Tests run with just", "", "memory.entry"],
    ["Ignore all", "blocked: the model does not see it", "memory.entry"],
  ]);
  assert.deepEqual((await childrenOf("Memory", "What It Knows About You")).map(({ description }) => description), ["Nothing yet."]);
  await act("deleteMemory", "Memory", "Notes of the Agent", "Tests run with just");
  assert.ok(!runs.some(([, verb]) => verb === "remove"));
  editor.choice = "Delete";
  await act("deleteMemory", "Memory", "Notes of the Agent", "Tests run with just");
  assert.deepEqual(lastRun(), ["memory", "remove", "--target", "memory", "--", "Tests run\nwith just"]);
  const count = runs.length;
  await view.run("deleteMemory", [undefined]); // an item that is gone
  assert.ok(!runs.slice(count).some(([, verb]) => verb === "remove"));
  editor.entered = " Prefers tabs ";
  await act("addMemory", "Memory", "What It Knows About You");
  assert.deepEqual(lastRun(), ["memory", "add", "--target", "user", "--", "Prefers tabs"]);
  await view.run("undoMemory", []);
  assert.match(editor.calls.at(-1) ?? "", /^information undone/);
});

test("an answer is forgotten by its id", async () => {
  assert.deepEqual(shown(await childrenOf("Permissions")), [
    ["npm test …", "allowed", "permission"],
    ["edits in src/", "rejected · this session", "permission"],
  ]);
  await act("forgetPermission", "Permissions", "edits in src/");
  assert.deepEqual(lastRequest(), ["_hermes/forget_permission_rule", { id: "r2" }]);
});

test("a blocked file of instructions is trusted after the user has confirmed it", async () => {
  const groups = await childrenOf();
  assert.equal(groups.find(({ label }) => label === "Context")?.description, "6 % of the window used");
  const items = await childrenOf("Context");
  assert.deepEqual(shown(items), [
    ["AGENTS.md", "loaded", "instructions.loaded"],
    ["bad.md", "blocked", "instructions.blocked"],
  ]);
  await act("trustInstructions", "Context", "bad.md");
  assert.ok(!runs.some(([, verb]) => verb === "trust"));
  editor.choice = "Trust the File";
  await act("trustInstructions", "Context", "bad.md");
  assert.deepEqual(lastRun(), ["context", "trust", "--", "/p/bad.md"]);
});

test("what fails is shown in place of its items, and as a message after an action", async () => {
  Object.assign(view.host, { run: () => Promise.reject(new Error("no such command\nmore")), request: () => Promise.reject(new Error("gone")) });
  assert.deepEqual((await childrenOf("Skills")).map(({ description }) => description), ["no such command"]);
  await view.run("disableSkill", [{ name: "x" }]);
  assert.match(editor.calls.at(-1) ?? "", /^error no such command/);
  isReady = false;
  assert.deepEqual((await childrenOf()).map(({ description }) => description), ["The agent has not started. The chat shows why."]);
});

test("nothing is loaded while the view is hidden, and only open groups are while it is shown", async () => {
  await childrenOf("Permissions");
  await childrenOf("Memory");
  isVisible = false;
  const before = [runs.length, requests.length, refreshed];
  await view.refresh();
  assert.deepEqual([runs.length, requests.length, refreshed], [before[0], before[1], (before[2] ?? 0) + 1]);
  isVisible = true;
  await childrenOf("Permissions");
  const count = runs.length;
  await view.refresh();
  assert.equal(runs.length, count, "the memory is not open any more");
  assert.equal(requests.length, (before[1] ?? 0) + 2);
});
