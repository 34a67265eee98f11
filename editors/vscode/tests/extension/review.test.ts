/** The review of changes in VS Code's editors: diffs, CodeLenses, marks, the list and its commands. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { loadReview, type LoadedReview } from "../../src/extension/review.js";
import { FileService } from "../../src/host/fileService.js";
import type { ReviewContext } from "../../src/host/reviewService.js";
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
let context: ReviewContext;
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
  context = {
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
function activate(uri: Uri, text: string, line = 1): { document: TextDocument; selection: Selection; selections: readonly Selection[]; decorations: unknown[][] } {
  const decorations: unknown[][] = [];
  const setDecorations = (_type: object, marks: { range: { start: Position; end: Position } }[]): void =>
    void decorations.push(marks.map(({ range }) => [range.start.line + 1, range.end.line + 1]));
  const document = new TextDocument(uri, text);
  const active = {
    document,
    selection: cursorIn(line),
    get selections(): readonly Selection[] {
      return [active.selection];
    },
    setDecorations,
    decorations,
    revealRange: () => undefined,
    viewColumn: 1,
  };
  editor.active = active;
  editor.visibleEditors = [active];
  editor.events.editor.fire(undefined);
  editor.events.visibleEditors.fire(undefined);
  return active;
}

function cursorIn(line: number): Selection {
  const position = new Position(line - 1, 0);
  return new Selection(position, position);
}

/** Return how often the user was told that the cursor is in no part. */
function refusals(): number {
  return editorWindow.actions.filter((each) => each.startsWith("inform The cursor is not in exactly one part")).length;
}

/** Return the value of a context key. */
function contextOf(name: string): unknown {
  return editor.executedCommands.findLast(([command, key]) => command === "setContext" && key === `acpServer.${name}`)?.[2];
}

function lensesOf(document: TextDocument): string[] {
  const lenses: CodeLens[] = editor.lensProviders.at(-1)?.provideCodeLenses(document) ?? [];
  return lenses.map(({ range, command }) => `${String(range.start.line + 1)} ${command.title.replaceAll("\u00a0", " ")}`);
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
async function write(text = NEW): Promise<void> {
  files.disk.set(FILE, text);
  for (const document of editor.documents) document.text = text;
  await loaded.service.onFileWritten("s", FILE, OLD);
}

/** Ask for a change of line 4 in the open file; return the thread below it, without its links' addresses. */
function editLineFour(): () => string {
  const { document } = activate(Uri.file(FILE), OLD, 4);
  editor.documents.push(document);
  loaded.display.beginInlineEdit({ path: FILE, firstLine: 4, lastLine: 4, text: OLD, request: "as a digit", sessionId: "s", isQueued: false });
  return () => editor.threads.map(({ range, label, comments: [comment] }) => `${String(range.start.line + 1)} ${label ?? ""}: ${comment?.body.value.replaceAll(/\(command[^)]*\)/g, "") ?? ""}`).join();
}

test("the change of selected lines is proposed at their place, and accepted there without the parts that are not shown", async () => {
  const thread = editLineFour();
  assert.match(thread(), /^4 Edit: as a digit: .*Working…/);
  await loaded.service.proposals.show("s", QUESTION);
  assert.match(thread(), /^4 Edit: as a digit: ```diff\n- four\n\+ 4\n```\n\n.*\[Accept This Part\] .*Alt\+Y.*\[Reject All 2 Parts\] .*Alt\+N.*\[Review All 2 Parts\]$/);
  await loaded.display.run("openParts", [FILE]);
  assert.deepEqual([contextOf("isInlineEdit"), ...editor.diffs.map(({ modified }) => textOf(modified))], [true, NEW], "a diff was opened over the editor before, or not all parts");
  await loaded.display.run("allow", []);
  assert.deepEqual([answers, editor.threads], [["q allow_once I accept this change only in part. I rejected these parts, so the files do not have them:"], []]);
  const written = loaded.service.proposals.textToWrite({ sessionId: "s", path: FILE, content: NEW }, OLD);
  assert.equal(written, "one\ntwo\nthree\n4\n", "a part was accepted that was not shown");
  await write(written);
  await loaded.service.refresh("s");
  assert.deepEqual(events.findLast((event) => event.type === "changes")?.files, [], "what was accepted at its place is to be reviewed once more");
});

test("what was written into selected lines without a question is reverted at their place alone", async () => {
  const thread = editLineFour();
  await write();
  assert.match(thread(), /^4 Edit: as a digit: ```diff\n- four\n\+ 4\n```.*\[Accept This Part\].*\[Revert This Part\].*\[Review All 2 Parts\]/s);
  await loaded.display.run("openParts", [FILE]);
  await loaded.display.run("reject", [FILE]);
  assert.deepEqual([editor.diffs.length, files.disk.get(FILE)], [1, "1\ntwo\nthree\nfour\n"]);
});

test("a change of other lines than the selected ones is shown as always, and the place is free after the turn", async () => {
  activate(Uri.file(FILE), OLD, 2);
  loaded.display.beginInlineEdit({ path: FILE, firstLine: 2, lastLine: 2, text: OLD, request: "x", sessionId: "s", isQueued: true });
  await loaded.service.endTurn("s");
  assert.equal(editor.threads.length, 1, "the turn before it took it away");
  await loaded.service.proposals.show("s", QUESTION);
  assert.deepEqual([editor.diffs.length, contextOf("isInlineEdit")], [1, false]);
  await loaded.service.endTurn("s");
  assert.equal(editor.threads.length, 0);
});

test("no line of a file ends the code block at the place of an edit", async () => {
  const thread = editLineFour();
  const content = [{ type: "diff" as const, path: FILE, oldText: OLD, newText: OLD.replace("four", "````\n[x](command:acpServer.allow)") }];
  events = [{ ...QUESTION, call: { ...QUESTION.call, content } }];
  await loaded.service.proposals.show("s", QUESTION);
  assert.match(thread(), /: `````diff\n.*\[Accept\] .*\[Reject\] \S*Alt\+N\S*$/s);
  await loaded.display.run("allow", []);
  assert.deepEqual(answers, ["q allow_once "], "all that is proposed was shown");
});

test("a proposal opens as a diff without taking the focus, and is accepted by a command", async () => {
  const { left, right } = await propose();
  const [, , , title, options] = editor.executedCommands.find(([name]) => name === "vscode.diff") ?? [];
  assert.deepEqual([textOf(left), textOf(right), title], [OLD, NEW, "a.py (proposed)"]);
  assert.deepEqual(options, { preview: false, preserveFocus: true });
  activate(right, NEW);
  assert.deepEqual([contextOf("isProposal"), contextOf("isOfSeveralFiles")], [true, false]);
  await loaded.display.run("allow", [right]);
  assert.deepEqual([answers, editor.diffs, contextOf("isProposal"), textOf(right)], [["q allow_once "], [], false, ""]);
});

test("parts of a proposal are rejected at the cursor and by CodeLens, and proposed again", async () => {
  const { right } = await propose();
  const active = activate(right, NEW, 4);
  const { document } = active;
  assert.deepEqual(lensesOf(document), ["1 $(close) Reject this part", "4 $(close) Reject this part"]);
  await loaded.display.run("revertHunk", []);
  assert.equal(textOf(right), "1\ntwo\nthree\nfour\n");
  assert.deepEqual(lensesOf(document), ["1 $(discard) Restore the rejected part", "1 $(close) Reject this part"]);
  await loaded.display.run("restoreHunks", [FILE]);
  assert.equal(textOf(right), NEW);
  await loaded.display.run("revertHunk", [FILE, "0:0:unknown"]);
  active.selection = cursorIn(1);
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
  assert.deepEqual(lensesOf(new TextDocument(Uri.file(FILE), NEW)), ["1 $(check) Keep", "1 $(discard) Revert", "1 − one", "4 $(check) Keep", "4 $(discard) Revert", "4 − four"]);
  await loaded.display.run("revertHunk", []);
  assert.equal(files.disk.get(FILE), "1\ntwo\nthree\nfour\n");
  active.selection = cursorIn(1);
  await loaded.display.run("keepHunk", []);
  assert.deepEqual([contextOf("isChangedFile"), contextOf("hasChanges"), tree?.getChildren()], [false, false, []]);
  assert.deepEqual(active.decorations.slice(-2), [[], []]);
});

test("commands that follow each other quickly are carried out one after the other", async () => {
  files.disk.set(FILE, "0\n1\ntwo\nthree\n4\n");
  await loaded.service.onFileWritten("s", FILE, OLD);
  activate(Uri.file(FILE), "0\n1\ntwo\nthree\n4\n", 1);
  // Keeping the first part moves the second one, whose id changes.
  await Promise.all(["keepHunk", "nextChange", "revertHunk"].map((name) => loaded.display.run(name, [])));
  assert.deepEqual([files.disk.get(FILE), contextOf("hasChanges")], ["0\n1\ntwo\nthree\nfour\n", false]);
});

test("a command waits until the cursor was moved by the one before it", async () => {
  await write();
  const active = activate(Uri.file(FILE), NEW, 1);
  // As in VS Code: a report of an earlier move undoes the new one here, until VS Code has carried it out and answers what came after it.
  let shown = active.selection;
  Object.defineProperty(active, "selection", { get: () => shown, set: (moved: Selection) => void setImmediate(() => (shown = moved)) });
  editor.commandResults.set("setContext", { then: (answer: () => void) => void setImmediate(answer) });
  await Promise.all([loaded.display.run("nextChange", []), loaded.display.run("revertHunk", [])]);
  assert.equal(files.disk.get(FILE), "1\ntwo\nthree\nfour\n");
});

/** Load the review again; return what ends the first use of its commands. */
function loadWithUnusedCommands(): { end: () => void } {
  loaded.display.dispose();
  editor.executedCommands = [];
  const use = { end: (): void => undefined };
  editor.commandResults.set("runCommands", new Promise<void>((resolve) => (use.end = resolve)));
  loaded = loadReview(context, editorWindow, () => opensDiffs);
  return use;
}

for (const isDecided of [false, true]) {
  test(`a change at its place names its keys once they are bound, ${isDecided ? "not if it is decided before" : "not before"}`, async () => {
    const use = loadWithUnusedCommands();
    const thread = editLineFour();
    await loaded.service.proposals.show("s", QUESTION);
    assert.deepEqual([thread().includes('Working…'), contextOf("isInlineEdit")], [true, false]);
    if (isDecided) await loaded.display.run("reject", [FILE]);
    use.end();
    await new Promise(setImmediate);
    assert.deepEqual([/\[Accept This Part\] .*Alt\+Y/.test(thread()), contextOf("isInlineEdit")], [!isDecided, !isDecided]);
  });
}

test("the keys are bound once VS Code has used all of their commands, because a first use is overtaken by later keys", async () => {
  const use = loadWithUnusedCommands();
  await write();
  activate(Uri.file(FILE), NEW);
  assert.deepEqual([contextOf("hasChanges"), contextOf("isChangedFile")], [true, false]);
  const [, used] = editor.executedCommands.find(([name]) => name === "runCommands") ?? [];
  for (const { command, args } of (used as { commands: { command: string; args: unknown[] }[] }).commands) {
    await loaded.display.run(command.replace("acpServer.", ""), args);
  }
  assert.deepEqual([files.disk.get(FILE), contextOf("hasChanges"), refusals()], [NEW, true, 0]);
  use.end();
  await new Promise(setImmediate);
  assert.equal(contextOf("isChangedFile"), true);
});

test("a part that is not at the cursor is neither kept nor reverted, and the user is told", async () => {
  await write();
  const active = activate(Uri.file(FILE), NEW, 2);
  await loaded.display.run("keepHunk", []);
  await loaded.display.run("revertHunk", []);
  assert.equal(refusals(), 2);
  Object.defineProperty(active, "selections", { value: [cursorIn(1), cursorIn(4)] });
  await loaded.display.run("revertHunk", []);
  activate(Uri.file("/project/b.py"), NEW);
  await loaded.display.run("revertHunk", [FILE]);
  assert.deepEqual([files.disk.get(FILE), refusals(), lensesOf(new TextDocument(Uri.file(FILE), NEW)).length], [NEW, 4, 6]);
});

test("a part is refused if the text changes while the parts are computed again", async () => {
  await write();
  const { document } = activate(Uri.file(FILE), NEW, 4);
  const done = loaded.display.run("revertHunk", []);
  await Promise.resolve();
  document.version += 1;
  await done;
  assert.deepEqual([files.disk.get(FILE), refusals()], [NEW, 1]);
});

test("parts are found where they are now, after the user has typed above them", async () => {
  await write();
  files.disk.set(FILE, NEW.replace("two", "two\nmine\nmine"));
  activate(Uri.file(FILE), NEW.replace("two", "two\nmine\nmine"), 6);
  await loaded.display.run("revertHunk", []);
  assert.equal(files.disk.get(FILE), "1\ntwo\nmine\nmine\nthree\nfour\n");
});

test("on the old side of a diff, a part is where its old lines are", async () => {
  files.disk.set(FILE, "one\nfour\n5\nsix\n");
  await loaded.service.onFileWritten("s", FILE, "one\ntwo\nthree\nfour\nfive\nsix\n");
  await loaded.display.run("openChange", [FILE]);
  const [diff] = editor.diffs;
  assert.ok(diff !== undefined);
  const active = activate(diff.original, textOf(diff.original), 3);
  await loaded.display.run("nextChange", []);
  assert.equal(active.selection.active.line, 4);
  active.selection = cursorIn(3);
  await loaded.display.run("revertHunk", []);
  assert.equal(files.disk.get(FILE), "one\ntwo\nthree\nfour\n5\nsix\n");
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
