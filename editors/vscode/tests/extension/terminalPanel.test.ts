/** Terminals, status bar and settings in VS Code. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { VsCodeTerminalPanel } from "../../src/extension/terminalPanel.js";
import { shouldFollowInitially, isTraceEnabled, shouldNotifyWhenHidden, serverSettings } from "../../src/extension/settings.js";
import { StatusBar } from "../../src/extension/statusBar.js";
import type { HostState } from "../../src/host/hostServices.js";
import { editor, resetEditor, type Terminal } from "../support/vscode.js";

beforeEach(resetEditor);

function openTerminal(name = "make"): { terminal: Terminal; interrupts: () => number; panel: VsCodeTerminalPanel; openTerminal: ReturnType<VsCodeTerminalPanel["open"]> } {
  const panel = new VsCodeTerminalPanel();
  let interrupts = 0;
  const made = panel.open(name, () => (interrupts += 1));
  const [terminal] = editor.terminals;
  assert.ok(terminal);
  return { terminal, interrupts: () => interrupts, panel, openTerminal: made };
}

test("output from before a terminal is opened appears when it is opened, and later output follows", () => {
  const { terminal, openTerminal: command } = openTerminal();
  command.write("one\ntwo\r\n");
  assert.equal(terminal.written, "");
  command.show();
  assert.equal(terminal.written, "\u001b[2m$ make\u001b[0m\r\none\r\ntwo\r\n");
  command.write("three\n");
  command.end("exit code 0");
  assert.match(terminal.written, /three\r\n\r\n.*\[exit code 0\]/);
});

test("the output of an unopened terminal is bounded", () => {
  const { terminal, openTerminal: command } = openTerminal();
  for (let line = 0; line < 100; line += 1) command.write(`${String(line)} ${"x".repeat(999)}\n`);
  command.show();
  assert.ok(terminal.written.length <= 48 * 1024, String(terminal.written.length));
  assert.match(terminal.written, /99 x+\r\n$/);
});

test("Ctrl+C and closing the terminal stop the command, other keys do nothing", () => {
  const { terminal, interrupts } = openTerminal();
  terminal.options.pty?.handleInput("y");
  assert.equal(interrupts(), 0);
  terminal.options.pty?.handleInput("\u0003");
  terminal.options.pty?.close();
  assert.equal(interrupts(), 2);
});

test("a long name is shortened in the list of terminals, and complete in the terminal", () => {
  const name = "n".repeat(60);
  const { terminal, openTerminal: command } = openTerminal(name);
  command.show();
  assert.equal(terminal.options.name, `${"n".repeat(40)}…`);
  assert.match(terminal.written, new RegExp(name));
});

test("the four newest ended terminals stay open until the window closes", () => {
  const panel = new VsCodeTerminalPanel();
  const commands = Array.from({ length: 6 }, (_, index) => panel.open(String(index), () => undefined));
  for (const command of commands.slice(0, 5)) command.release();
  const isDisposed = (): boolean[] => editor.terminals.map((terminal) => terminal.isDisposed);
  assert.deepEqual(isDisposed(), [true, false, false, false, false, false]);
  panel.dispose();
  assert.deepEqual(isDisposed(), Array(6).fill(true));
});

const READY: HostState = { status: "ready", message: "", isRunning: false, askingTitle: "", askingAgent: "", agent: "", session: [], openQuestions: 0 };
const FACTS = [["Model", "A model with a very long name"], ["Mode", "Ask"], ["Cost", "0.12 USD"]] as const;

for (const [name, state, text, color, description] of [
  ["ready", READY, "$(hubot) Hermes", undefined, /is ready/],
  ["ready, with what is known of the session", { ...READY, session: FACTS }, "$(hubot) A model with a very long… · Ask · 0.12 USD", undefined, /Model: A model with a very long name\n\nMode: Ask\n\nCost: 0\.12 USD/],
  ["another one of which nothing else is known", { ...READY, agent: "Gemini CLI" }, "$(hubot) Gemini CLI", undefined, /is ready/],
  ["at work", { ...READY, isRunning: true }, "$(loading~spin) Hermes", undefined, /is ready/],
  ["asking", { ...READY, isRunning: true, openQuestions: 2 }, "$(bell-dot) Hermes asks", "warningBackground", /is ready/],
  ["asking by another agent", { ...READY, openQuestions: 1, askingAgent: "Gemini CLI" }, "$(bell-dot) Gemini CLI asks", "warningBackground", /1 question/],
  ["not trusted", { ...READY, status: "untrusted" }, "$(workspace-untrusted) Hermes", undefined, /trusted/],
  ["without a folder", { ...READY, status: "noFolder" }, "$(hubot) Hermes", undefined, /Open a folder/],
  ["missing", { ...READY, status: "missing", message: "Why." }, "$(warning) Hermes", "errorBackground", /not found\.\n\nWhy\./],
  ["starting", { ...READY, status: "starting" }, "$(hubot) Hermes", undefined, /starts/],
  ["restarting", { ...READY, status: "restarting" }, "$(sync~spin) Hermes", undefined, /restarted/],
  ["failed", { ...READY, status: "failed" }, "$(error) Hermes", "errorBackground", /could not be started/],
] as const) {
  test(`the status bar says that the agent is ${name}`, () => {
    new StatusBar().show(state);
    const [item] = editor.statusBar;
    assert.equal(item?.text, text);
    assert.equal(item.backgroundColor?.id, color && `statusBarItem.${color}`);
    assert.match(item.tooltip?.value ?? "", description);
    assert.match(item.accessibilityInformation?.label ?? "", /^Hermes Agent: /);
    assert.equal(item.command, state.openQuestions > 0 ? "acpServer.showQuestion" : "acpServer.focus");
  });
}

test("settings of the wrong type count as not set", () => {
  const nothing = { command: "", arguments: [], environment: {} };
  assert.deepEqual([serverSettings(), isTraceEnabled(), shouldFollowInitially(), shouldNotifyWhenHidden()], [nothing, false, false, true]);
  editor.settings = new Map<string, unknown>([
    ["acpServer.command", 7],
    ["acpServer.arguments", ["serve", 1]],
    ["acpServer.environment", { A: "b", C: 1 }],
    ["acpServer.trace", "messages"],
    ["acpServer.followAgent", true],
    ["acpServer.notifyWhenHidden", false],
  ]);
  const some = { command: "", arguments: ["serve"], environment: { A: "b" } };
  assert.deepEqual([serverSettings(), isTraceEnabled(), shouldFollowInitially(), shouldNotifyWhenHidden()], [some, true, true, false]);
});
