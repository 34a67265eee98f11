/** The review of changes in VS Code's editors: diffs, CodeLenses, marks, the list and its commands. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { loadReview, type LoadedReview } from "../../src/extension/review.js";
import { FileService } from "../../src/host/fileService.js";
import type { PermissionEvent, SessionEvent } from "../../src/shared/events.js";
import { FakeEditorWindow, FakeFiles, FakeTextStore } from "../support/fakes.js";
import { editor, resetEditor, Selection, Position, TabInputTextDiff, TextDocument, Uri, type CodeLens } from "../support/vscode.js";

const FILE = "/project/a.py";
const OLD = "one\ntwo\nthree\nfour\n";
const NEW = "1\ntwo\nthree\n4\n";
const QUESTION: PermissionEvent = {
  type: "permission",
  questionId: "q",
  call: { toolCallId: "c", kind: "edit", content: [{ type: "diff", path: FILE, oldText: OLD, newText: NEW }] },
  options: [],
};

let files: FakeFiles;
let events: SessionEvent[];
let answers: string[];
let editorWindow: FakeEditorWindow;
let loaded: LoadedReview;
let opensDiffs: boolean;

beforeEach(() => {
  resetEditor();
  files = new FakeFiles();
  files.disk.set(FILE, OLD);
  events = [QUESTION];
  answers = [];
  opensDiffs = true;
  editorWindow = new FakeEditorWindow();
  const context = {
    fileService: new FileService(files, files),
    textStore: new FakeTextStore(),
    editorWindow,
    labelOf: (path: string) => path.slice(1),
    publish: (_session: string, event: SessionEvent) => void events.push(event),
    eventsOf: () => events,
    shownSessionId: () => "s",
    optionOf: (_questionId: string, kind: string) => kind,
    answer: (questionId: string, kind: string, reason: string) => {
      answers.push(`${questionId} ${kind} ${reason.split("\n")[0] ?? ""}`);
      return loaded.service.proposals.withdraw(questionId);
    },
  };
  loaded = loadReview(context, editorWindow, () => opensDiffs);
});

afterEach(() => {
  loaded.display.dispose();
});

/** Make a document the active editor's, with the cursor in a line from 1; return the editor. */
function activate(uri: Uri, text: string, line = 1): { selection: Selection; decorations: unknown[][] } {
  const position = new Position(line - 1, 0);
  const decorations: unknown[][] = [];
  const setDecorations = (_type: object, marks: { range: { start: Position; end: Position } }[]): void =>
    void decorations.push(marks.map(({ range }) => [range.start.line + 1, range.end.line + 1]));
  const document = new TextDocument(uri, text);
  const active = { document, selection: new Selection(position, position), setDecorations, decorations, revealRange: () => undefined, viewColumn: 1 };
  editor.active = active;
  editor.visibleEditors = [active];
  editor.events.editor.fire(undefined);
  editor.events.visibleEditors.fire(undefined);
  return active;
}

/** Return the value of a context key. */
function contextOf(name: string): unknown {
  return editor.executedCommands.findLast(([command, key]) => command === "setContext" && key === `acpServer.${name}`)?.[2];
}

function lensesOf(document: TextDocument): string[] {
  const lenses: CodeLens[] = editor.lensProviders.at(-1)?.provideCodeLenses(document) ?? [];
  return lenses.map(({ range, command }) => `${String(range.start.line + 1)} ${command.title}`);
}

function textOf(uri: Uri): string {
  return editor.contents.get("acp-server-diff")?.(uri) ?? "";
}

async function propose(): Promise<{ left: Uri; right: Uri }> {
  await loaded.service.proposals.show("s", QUESTION);
  const diff = editor.diffs.at(-1);
  assert.ok(diff !== undefined);
  return { left: diff.original, right: diff.modified };
}

/** Record that the agent has written the file. */
async function write(): Promise<void> {
  files.disk.set(FILE, NEW);
  await loaded.service.onFileWritten("s", FILE, OLD);
}

test("a proposal opens as a diff without taking the focus, and is accepted by a command", async () => {
  const { left, right } = await propose();
  const [, , , title, options] = editor.executedCommands.find(([name]) => name === "vscode.diff") ?? [];
  assert.deepEqual([textOf(left), textOf(right), title], [OLD, NEW, "a.py (proposed)"]);
  assert.deepEqual(options, { preview: false, preserveFocus: true });
  activate(right, NEW);
  assert.equal(contextOf("isProposal"), true);
  await loaded.display.run("allow", [right]);
  assert.deepEqual([answers, editor.diffs, contextOf("isProposal"), textOf(right)], [["q allow_once "], [], false, ""]);
});

test("parts of a proposal are rejected at the cursor and by CodeLens, and proposed again", async () => {
  const { right } = await propose();
  const { document } = activate(right, NEW, 4) as unknown as { document: TextDocument };
  assert.deepEqual(lensesOf(document), ["1 $(close) Reject this part", "4 $(close) Reject this part"]);
  await loaded.display.run("revertHunk", []);
  assert.equal(textOf(right), "1\ntwo\nthree\nfour\n");
  assert.deepEqual(lensesOf(document), ["1 1 part is rejected: propose again", "1 $(close) Reject this part"]);
  await loaded.display.run("restoreHunks", [FILE]);
  assert.equal(textOf(right), NEW);
  await loaded.display.run("revertHunk", [FILE, "0:0:unknown"]);
  await loaded.display.run("revertHunk", []);
  await loaded.display.run("allow", []);
  assert.deepEqual(answers, ["q allow_once I accept this change only in part. I rejected these parts, so the files do not have them:"]);
});

test("a proposal is rejected from its old side, too", async () => {
  const { left } = await propose();
  activate(left, OLD);
  await loaded.display.run("reject", [left]);
  assert.deepEqual(answers, ["q reject_once "]);
});

test("no diff is opened against the setting, or over a file in which the user types", async () => {
  opensDiffs = false;
  await loaded.service.proposals.show("s", QUESTION);
  assert.deepEqual(editor.diffs, []);
  await loaded.service.proposals.openDiff("s", "c", FILE);
  assert.equal(editor.diffs.length, 1);
  await loaded.service.proposals.withdraw("q");
  opensDiffs = true;
  const active = activate(Uri.file("/b"), "");
  editor.events.selection.fire({ kind: 1, textEditor: active });
  await loaded.service.proposals.show("s", QUESTION);
  assert.deepEqual(editor.diffs, []);
});

test("written changes are marked in the open file, listed, and kept and reverted part by part", async () => {
  const active = activate(Uri.file(FILE), NEW, 4);
  await write();
  assert.deepEqual(active.decorations.slice(-2), [[[1, 1], [4, 4]], []]);
  assert.deepEqual([contextOf("isChangedFile"), contextOf("hasChanges")], [true, true]);
  const [tree] = editor.trees;
  const [item] = (tree?.getChildren() ?? []).map((each) => tree?.getTreeItem(each) as unknown as Record<string, unknown>);
  assert.deepEqual([item?.["label"], item?.["description"]], ["project/a.py", "+2 −2"]);
  assert.deepEqual(lensesOf(new TextDocument(Uri.file(FILE), NEW)), ["1 $(check) Keep", "1 $(discard) Revert", "4 $(check) Keep", "4 $(discard) Revert"]);
  await loaded.display.run("revertHunk", []);
  assert.equal(files.disk.get(FILE), "1\ntwo\nthree\nfour\n");
  await loaded.display.run("keepHunk", []);
  assert.deepEqual([contextOf("isChangedFile"), contextOf("hasChanges"), tree?.getChildren()], [false, false, []]);
  assert.deepEqual(active.decorations.slice(-2), [[], []]);
});

test("commands that follow each other quickly are carried out one after the other", async () => {
  files.disk.set(FILE, "0\n1\ntwo\nthree\n4\n");
  await loaded.service.onFileWritten("s", FILE, OLD);
  activate(Uri.file(FILE), "0\n1\ntwo\nthree\n4\n", 1);
  // Keeping the first part moves the second one, whose id changes.
  await Promise.all([loaded.display.run("keepHunk", []), loaded.display.run("revertHunk", [])]);
  assert.deepEqual([files.disk.get(FILE), contextOf("hasChanges")], ["0\n1\ntwo\nthree\nfour\n", false]);
});

test("the whole file and all files are kept and reverted by commands", async () => {
  await write();
  await loaded.display.run("revertFile", [{ path: FILE }]);
  assert.equal(files.disk.get(FILE), OLD);
  await write();
  await loaded.display.run("keepFile", [Uri.file(FILE)]);
  assert.equal(contextOf("hasChanges"), false);
  await write();
  await loaded.display.run("revertAll", []);
  assert.equal(files.disk.get(FILE), OLD);
  await write();
  await loaded.display.run("keepAll", []);
  assert.deepEqual([files.disk.get(FILE), contextOf("hasChanges")], [NEW, false]);
});

test("the commands for the next and the previous change move the cursor, and go on in the next file", async () => {
  await write();
  files.disk.set("/project/b.py", "b\n");
  await loaded.service.onFileWritten("s", "/project/b.py", null);
  const active = activate(Uri.file(FILE), NEW, 1);
  await loaded.display.run("nextChange", []);
  assert.equal(active.selection.active.line, 3);
  await loaded.display.run("nextChange", []);
  assert.deepEqual(editorWindow.actions, ["open /project/b.py:1 focused"]);
  await loaded.display.run("previousChange", []);
  assert.equal(active.selection.active.line, 0);
});

test("a change opens as a diff whose right side is the file; what was kept joins the left side", async () => {
  await write();
  await loaded.display.run("openChange", [{ path: FILE }]);
  const [diff] = editor.diffs;
  assert.ok(diff !== undefined);
  assert.deepEqual([textOf(diff.original), String(diff.modified)], [OLD, `file:${FILE}`]);
  const changes = events.at(-1);
  await loaded.display.run("keepHunk", [FILE, changes?.type === "changes" ? changes.files[0]?.hunks[0]?.id : undefined]);
  assert.equal(textOf(diff.original), "1\ntwo\nthree\nfour\n");
});

test("the text that removed lines had is shown on hover, and as code", async () => {
  files.disk.set(FILE, "one\nfour\n");
  await loaded.service.onFileWritten("s", FILE, OLD);
  const marks: { hoverMessage?: { value: string } }[] = [];
  const active = activate(Uri.file(FILE), "one\nfour\n");
  Object.assign(active, { setDecorations: (_type: object, found: typeof marks) => void marks.push(...found) });
  editor.events.visibleEditors.fire(undefined);
  assert.deepEqual(marks.map(({ hoverMessage }) => hoverMessage?.value), ["Before the agent's change:\n```\ntwo\nthree\n\n```"]);
});

test("diffs from before a reload are closed, because their texts are gone", () => {
  loaded.display.dispose();
  editor.diffs = [];
  editor.executedCommands = [];
  const stale = new Uri("acp-server-diff", FILE, "new-q");
  editor.diffs.push(new TabInputTextDiff(stale, stale));
  loaded = loadReview({} as never, editorWindow, () => true);
  assert.deepEqual(editor.diffs, []);
});
