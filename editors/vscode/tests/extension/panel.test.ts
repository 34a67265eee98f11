/** Terminals, the status bar and settings in VS Code's words. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { EditorPanel } from "../../src/extension/panel.js";
import { followsAtFirst, isTraced, notifiesWhenHidden, serverSettings } from "../../src/extension/settings.js";
import { StatusBar } from "../../src/extension/statusBar.js";
import type { HostState } from "../../src/host/surroundings.js";
import { editor, resetEditor, type Terminal } from "../support/vscode.js";

beforeEach(resetEditor);

function opened(name = "make"): { terminal: Terminal; interrupts: () => number; panel: EditorPanel; opened: ReturnType<EditorPanel["open"]> } {
  const panel = new EditorPanel();
  let interrupts = 0;
  const made = panel.open(name, () => (interrupts += 1));
  const [terminal] = editor.terminals;
  assert.ok(terminal);
  return { terminal, interrupts: () => interrupts, panel, opened: made };
}

test("what was printed before somebody looked is there when they look, and the rest comes", () => {
  const { terminal, opened: command } = opened();
  command.print("one\ntwo\r\n");
  assert.equal(terminal.written, "");
  command.show();
  assert.equal(terminal.written, "\u001b[2m$ make\u001b[0m\r\none\r\ntwo\r\n");
  command.print("three\n");
  command.end("exit code 0");
  assert.match(terminal.written, /three\r\n\r\n.*\[exit code 0\]/);
});

test("what nobody looks at is bounded", () => {
  const { terminal, opened: command } = opened();
  for (let line = 0; line < 100; line += 1) command.print(`${String(line)} ${"x".repeat(999)}\n`);
  command.show();
  assert.ok(terminal.written.length <= 48 * 1024, String(terminal.written.length));
  assert.match(terminal.written, /99 x+\r\n$/);
});

test("Ctrl+C and closing end the command, other keys do nothing", () => {
  const { terminal, interrupts } = opened();
  terminal.options.pty?.handleInput("y");
  assert.equal(interrupts(), 0);
  terminal.options.pty?.handleInput("\u0003");
  terminal.options.pty?.close();
  assert.equal(interrupts(), 2);
});

test("a long name is cut in the list of terminals, and whole in the terminal", () => {
  const name = "n".repeat(60);
  const { terminal, opened: command } = opened(name);
  command.show();
  assert.equal(terminal.options.name, `${"n".repeat(40)}…`);
  assert.match(terminal.written, new RegExp(name));
});

test("ended terminals stay, the newest four, and all go with the window", () => {
  const panel = new EditorPanel();
  const commands = Array.from({ length: 6 }, (_, index) => panel.open(String(index), () => undefined));
  for (const command of commands.slice(0, 5)) command.release();
  const isDisposed = (): boolean[] => editor.terminals.map((terminal) => terminal.isDisposed);
  assert.deepEqual(isDisposed(), [true, false, false, false, false, false]);
  panel.dispose();
  assert.deepEqual(isDisposed(), Array(6).fill(true));
});

const READY: HostState = { status: "ready", message: "", isRunning: false, waiting: 0 };

for (const [name, state, text, color, meaning] of [
  ["ready", READY, "$(hubot) Hermes", undefined, /is ready/],
  ["at work", { ...READY, isRunning: true }, "$(loading~spin) Hermes", undefined, /is ready/],
  ["asking", { ...READY, isRunning: true, waiting: 2 }, "$(bell-dot) Hermes asks", "warningBackground", /is ready/],
  ["not trusted", { ...READY, status: "untrusted" }, "$(workspace-untrusted) Hermes", undefined, /trusted/],
  ["without a folder", { ...READY, status: "noFolder" }, "$(hubot) Hermes", undefined, /open one/],
  ["missing", { ...READY, status: "missing", message: "Why." }, "$(warning) Hermes", "errorBackground", /not found\.\n\nWhy\./],
  ["starting", { ...READY, status: "starting" }, "$(hubot) Hermes", undefined, /starts/],
  ["restarting", { ...READY, status: "restarting" }, "$(sync~spin) Hermes", undefined, /started again/],
  ["failed", { ...READY, status: "failed" }, "$(error) Hermes", "errorBackground", /cannot be started/],
] as const) {
  test(`the status bar says that the agent is ${name}`, () => {
    new StatusBar().show(state);
    const [item] = editor.statusBar;
    assert.equal(item?.text, text);
    assert.equal(item.backgroundColor?.id, color && `statusBarItem.${color}`);
    assert.match(item.tooltip?.value ?? "", meaning);
    assert.match(item.accessibilityInformation?.label ?? "", /^Hermes Agent: /);
    assert.equal(item.command, "acpServer.focus");
  });
}

test("settings that are not set, or not of their type, count as not set", () => {
  const nothing = { command: "", arguments: [], environment: {} };
  assert.deepEqual([serverSettings(), isTraced(), followsAtFirst(), notifiesWhenHidden()], [nothing, false, false, true]);
  editor.settings = new Map<string, unknown>([
    ["acpServer.command", 7],
    ["acpServer.arguments", ["serve", 1]],
    ["acpServer.environment", { A: "b", C: 1 }],
    ["acpServer.trace", "messages"],
    ["acpServer.followAgent", true],
    ["acpServer.notifyWhenHidden", false],
  ]);
  const some = { command: "", arguments: ["serve"], environment: { A: "b" } };
  assert.deepEqual([serverSettings(), isTraced(), followsAtFirst(), notifiesWhenHidden()], [some, true, true, false]);
});
