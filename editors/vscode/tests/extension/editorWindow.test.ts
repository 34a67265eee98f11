/** The editor window in VS Code: snapshots, dialogs, opening and finding files. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { VsCodeWindow } from "../../src/extension/editorWindow.js";
import { ChannelLog } from "../../src/extension/log.js";
import { DiagnosticSeverity, editor, Position, Range, resetEditor, Terminal, TextDocument, Uri } from "../support/vscode.js";

let editorWindow: VsCodeWindow;
const chats = { reveal: () => undefined, openTab: () => undefined };

beforeEach(() => {
  resetEditor();
  editorWindow = new VsCodeWindow(new ChannelLog(), () => chats);
});

function range(line: number, from: number, to: number): Range {
  return new Range(new Position(line, from), new Position(line, to));
}

test("only workspace folders on disk are listed", () => {
  editor.folders = [Uri.file("/a"), new Uri("vscode-vfs", "/b"), Uri.file("/c")];
  assert.deepEqual(editorWindow.folders, ["/a", "/c"]);
});

test("a snapshot has the file, the selection and the problems, with lines from 1", () => {
  const document = new TextDocument(Uri.file("/a.py"), "one\ntwo\n");
  editor.active = { document, selection: range(1, 0, 3) };
  const there = range(0, 0, 3);
  editor.diagnostics.set("/a.py", [
    { severity: DiagnosticSeverity.Warning, message: "m", range: there, source: "ruff", code: { value: "F401" } },
    { severity: DiagnosticSeverity.Hint, message: "h", range: there, code: 7 },
  ]);
  const lines = { line: 1, endLine: 1 };
  assert.deepEqual(editorWindow.snapshot(), {
    file: "/a.py",
    firstLine: 2,
    lastLine: 2,
    selectedText: "two",
    problems: [
      { severity: "warning", message: "m", ...lines, source: "ruff", code: "F401" },
      { severity: "hint", message: "h", ...lines, source: "", code: "7" },
    ],
  });
});

for (const [name, uri] of [
  ["nothing", undefined],
  ["an output", new Uri("output", "/log")],
] as const) {
  test(`while ${name} is active, the snapshot is empty`, () => {
    const selection = range(0, 0, 0);
    editor.active = uri && { document: new TextDocument(uri, "x"), selection };
    const nothing = { file: "", firstLine: 0, lastLine: 0, selectedText: "", problems: [] };
    assert.deepEqual(editorWindow.snapshot(), nothing);
  });
}

test("a file is opened at a line, with or without the focus", async () => {
  await editorWindow.openFile("/a.py", 0, true);
  await editorWindow.openFile("/a.py", 12, false);
  const opened = (line: number, preserveFocus: boolean): string => {
    const lines = { line, character: 0 };
    const options = { preview: true, preserveFocus, selection: { start: lines, end: lines } };
    return `open file:/a.py ${JSON.stringify(options)}`;
  };
  assert.deepEqual(editor.calls.slice(-2), [opened(0, false), opened(11, true)]);
});

test("a sign-in command runs in its own terminal and returns its exit code", async () => {
  const line = { command: "acp-server", arguments: ["setup"], environment: { A: "b" }, cwd: "/project" };
  const ended = editorWindow.runInTerminal("Sign in", line);
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

test("a confirmation is modal, and any answer but its action is a no", async () => {
  editor.choice = "Revert";
  assert.equal(await editorWindow.confirm("Revert it?", "Revert"), true);
  editor.choice = undefined;
  assert.equal(await editorWindow.confirm("Revert it?", "Revert"), false);
  assert.equal(editor.calls.at(-1), 'warning Revert it? [{"modal":true},"Revert"]');
});

test("only what failed is shown as a warning", async () => {
  editor.choice = "Undo";
  assert.equal(await editorWindow.showInformation("Restored.", ["Undo"]), "Undo");
  assert.equal(await editorWindow.showWarning("Not restored.", ["Undo"]), "Undo");
  assert.deepEqual(editor.calls.slice(-2), ['information Restored. ["Undo"]', 'warning Not restored. ["Undo"]']);
  editor.choice = undefined;
});

test("files and symbols of the workspace are listed, and the open files, each once", async () => {
  editor.foundFiles = ["/p/ab.py", "/p/xab.py"].map((path) => Uri.file(path));
  assert.deepEqual(await editorWindow.listFiles(), ["/p/ab.py", "/p/xab.py"]);
  editor.tabs = [Uri.file("/a"), new Uri("git", "/b"), Uri.file("/a"), Uri.file("/c")];
  assert.deepEqual(editorWindow.openFiles(), ["/a", "/c"]);
  editor.commandResults.set("vscode.executeWorkspaceSymbolProvider", [
    { name: "median", location: { uri: Uri.file("/p/ab.py"), range: range(3, 0, 4) } },
    { name: "elsewhere", location: { uri: new Uri("git", "/x"), range: range(0, 0, 0) } },
  ]);
  assert.deepEqual(await editorWindow.findSymbols("med"), [{ name: "median", path: "/p/ab.py", firstLine: 4, lastLine: 4 }]);
});

test("a secret is asked for without showing it, and files are chosen in a dialog", async () => {
  editor.choice = "sk-1";
  assert.equal(await editorWindow.askSecret("Key", "Where it goes"), "sk-1");
  assert.equal(editor.calls.at(-1), 'input {"title":"Key","prompt":"Where it goes","password":true,"ignoreFocusOut":true} []');
  editor.foundFiles = [Uri.file("/p/a.py")];
  assert.deepEqual(await editorWindow.chooseFiles(), ["/p/a.py"]);
});

test("links, the log, settings, trust and folders use VS Code's own commands", async () => {
  await editorWindow.openExternal("https://example.com/");
  editorWindow.showLog();
  assert.deepEqual(editor.calls.slice(-2), ["browse https://example.com/", "show Hermes Agent"]);
  editorWindow.openSettings("command");
  editorWindow.manageTrust();
  editorWindow.openFolder();
  assert.deepEqual(editor.executedCommands, [
    ["workbench.action.openSettings", "acpServer.command"],
    ["workbench.trust.manage"],
    ["vscode.openFolder"],
  ]);
});
