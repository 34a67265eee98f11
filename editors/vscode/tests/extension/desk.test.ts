/** The user's window in VS Code's words: what is looked at, asked, opened and found. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { EditorDesk } from "../../src/extension/desk.js";
import { DiffDocuments } from "../../src/extension/diffDocuments.js";
import { ChannelLog } from "../../src/extension/log.js";
import { DiagnosticSeverity, editor, Position, Range, resetEditor, Terminal, TextDocument, Uri } from "../support/vscode.js";

let desk: EditorDesk;

beforeEach(() => {
  resetEditor();
  desk = new EditorDesk(new DiffDocuments(), new ChannelLog());
});

function range(line: number, from: number, to: number): Range {
  return new Range(new Position(line, from), new Position(line, to));
}

test("folders are those on disk", () => {
  editor.folders = [Uri.file("/a"), new Uri("vscode-vfs", "/b"), Uri.file("/c")];
  assert.deepEqual(desk.folders, ["/a", "/c"]);
});

test("a glance tells the file, the selection and the problems, lines from 1", () => {
  const document = new TextDocument(Uri.file("/a.py"), "one\ntwo\n");
  editor.active = { document, selection: range(1, 0, 3) };
  const there = range(0, 0, 3);
  editor.diagnostics.set("/a.py", [
    { severity: DiagnosticSeverity.Warning, message: "m", range: there, source: "ruff", code: { value: "F401" } },
    { severity: DiagnosticSeverity.Hint, message: "h", range: there, code: 7 },
  ]);
  const place = { line: 1, endLine: 1 };
  assert.deepEqual(desk.glance(), {
    file: "/a.py",
    firstLine: 2,
    lastLine: 2,
    selectedText: "two",
    problems: [
      { severity: "warning", message: "m", ...place, source: "ruff", code: "F401" },
      { severity: "hint", message: "h", ...place, source: "", code: "7" },
    ],
  });
});

for (const [name, uri] of [
  ["nothing", undefined],
  ["an output", new Uri("output", "/log")],
] as const) {
  test(`while ${name} is looked at, a glance tells of nothing`, () => {
    const selection = range(0, 0, 0);
    editor.active = uri && { document: new TextDocument(uri, "x"), selection };
    const nothing = { file: "", firstLine: 0, lastLine: 0, selectedText: "", problems: [] };
    assert.deepEqual(desk.glance(), nothing);
  });
}

test("a file is opened at its line, with the focus where it is wanted", async () => {
  await desk.openFile("/a.py", 0, true);
  await desk.openFile("/a.py", 12, false);
  const opened = (line: number, preserveFocus: boolean): string => {
    const place = { line, character: 0 };
    const options = { preview: true, preserveFocus, selection: { start: place, end: place } };
    return `open file:/a.py ${JSON.stringify(options)}`;
  };
  assert.deepEqual(editor.asked.slice(-2), [opened(0, false), opened(11, true)]);
});

test("a command that signs in has a terminal of its own, and its exit code is told", async () => {
  const line = { command: "acp-server", arguments: ["setup"], environment: { A: "b" }, cwd: "/project" };
  const ended = desk.runInTerminal("Sign in", line);
  const [terminal] = editor.terminals;
  assert.ok(terminal);
  const { name, shellPath, shellArgs, env, cwd } = terminal.options;
  const expected = ["Sign in", "acp-server", ["setup"], { A: "b" }, "/project"];
  assert.deepEqual([name, shellPath, shellArgs, env, cwd], expected);
  const another = new Terminal({ name: "another" });
  another.exitStatus = { code: 9 };
  editor.events.closedTerminal.fire(another);
  terminal.exitStatus = { code: 3 };
  editor.events.closedTerminal.fire(terminal);
  assert.deepEqual([terminal.isShown, await ended], [true, 3]);
});

test("a question before a loss is modal, and anything but its action is a no", async () => {
  editor.choice = "Revert";
  assert.equal(await desk.confirm("Revert it?", "Revert"), true);
  editor.choice = undefined;
  assert.equal(await desk.confirm("Revert it?", "Revert"), false);
  assert.equal(editor.asked.at(-1), 'warning Revert it? [{"modal":true},"Revert"]');
});

test("a search takes either case and any place, and the shortest paths come first", async () => {
  editor.found = ["/p/deep/in/ab.py", "/p/ab.py", "/p/xab.py"].map((path) => Uri.file(path));
  assert.deepEqual(await desk.findFiles("a[/b", 2), ["/p/ab.py", "/p/xab.py"]);
  assert.equal(editor.asked.at(-1), "find **/*[aA]?*/*[bB]* 8");
});

test("without a query the open files are found, each once", async () => {
  editor.tabs = [Uri.file("/a"), new Uri("git", "/b"), Uri.file("/a"), Uri.file("/c")];
  assert.deepEqual(await desk.findFiles("", 5), ["/a", "/c"]);
});

test("what VS Code has for it is asked of VS Code", async () => {
  await desk.openExternal("https://example.com/");
  desk.showLog();
  assert.deepEqual(editor.asked.slice(-2), ["browse https://example.com/", "show Hermes Agent"]);
  desk.openSettings();
  desk.manageTrust();
  desk.openFolder();
  desk.revealChat();
  assert.deepEqual(editor.ran, [
    ["workbench.action.openSettings", "acpServer.command"],
    ["workbench.trust.manage"],
    ["vscode.openFolder"],
    ["acpServer.chat.focus"],
  ]);
});
