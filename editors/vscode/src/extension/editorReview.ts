/**
 * The review of the agent's changes in VS Code's editors: diffs, CodeLenses, marks, commands and a list.
 *
 * Loaded with the first change. Which parts are kept or reverted is decided by the host's services.
 */
import { basename } from "node:path";
import { commands, Position, Range, Selection, TextEditorRevealType, Uri, window, workspace, type TextDocument, type TextEditor } from "vscode";
import type { Disposable, EditorWindow } from "../host/ports.js";
import type { Proposal, ProposedFile } from "../host/proposalService.js";
import type { ReviewDisplay, ReviewedFile, ReviewService } from "../host/reviewService.js";
import { hunksBetween, type Hunk } from "../shared/hunks.js";
import { ChangeDecorations } from "./changeDecorations.js";
import { ChangeLenses, type ReviewedDocument } from "./changeLenses.js";
import { ChangesTree } from "./changesTree.js";
import { InlineEdits, type InlineEdit } from "./inlineEdits.js";
import { closeDiffs, DiffDocuments, openDiff, openDiffs, SCHEME, uriOf, type Diff } from "./diffDocuments.js";
import { t } from "../shared/l10n.js";

/** Name of the virtual document with a file's text from before the agent's changes. */
const BEFORE = "before";
/** Changes are computed again after the user has typed, at most this often. */
const EDIT_DELAY_MILLISECONDS = 200;
const MAX_OPENED_FILES = 5;
/** No diff is opened over a file in which the user was active so recently. */
const BUSY_MILLISECONDS = 3000;
/** Commands with a file, whose editor need not be the active one. */
const FILE_COMMANDS: ReadonlySet<string> = new Set(["openChange", "openParts", "keepFile", "revertFile"]);
/** Commands with keys of their own. */
const KEY_COMMANDS: readonly string[] = ["allow", "allowAll", "reject", "rejectAll", "keepHunk", "revertHunk", "nextChange", "previousChange"];
/** Argument of a command that is to do nothing; see `#orderKeys`. */
const FIRST_USE = "acpServer.firstUse";

/** What the commands do to a changed file as a whole, and to a part of it. */
const WHOLE_COMMANDS: Readonly<Record<string, "keep" | "revert">> = { allow: "keep", keepFile: "keep", reject: "revert", revertFile: "revert" };
const PART_COMMANDS: Readonly<Record<string, "keep" | "revert">> = { keepHunk: "keep", revertHunk: "revert" };

const NOT_AT_A_PART = t("The cursor is not in exactly one part of the change, so nothing was done. Go to the part, for example with Go to the Next Change (Alt+F5).");

/** The new side of a proposal: what the user accepts or rejects. */
interface ShownProposal {
  readonly proposal: Proposal;
  readonly file: ProposedFile;
  readonly hunks: readonly Hunk[];
}

/** Where the cursors of the active editor are, in which version of its text. */
interface CursorLines {
  readonly document: TextDocument;
  readonly version: number;
  /** From 1. */
  readonly lines: readonly number[];
}

export class EditorReview implements ReviewDisplay, Disposable {
  readonly #documents = new DiffDocuments();
  readonly #decorations = new ChangeDecorations();
  readonly #tree = new ChangesTree();
  readonly #lenses = new ChangeLenses((document) => this.#reviewed(document));
  readonly #inlineEdits: InlineEdits;
  /** Commands that concern no single file. */
  readonly #windowCommands: Readonly<Record<string, () => Promise<void> | undefined>> = {
    keepAll: () => this.#reviews?.keepAll(this.#shownSessionId()),
    revertAll: () => this.#reviews?.revertAll(this.#shownSessionId()),
    nextChange: () => this.#goToChange(1),
    previousChange: () => this.#goToChange(-1),
  };
  readonly #editorWindow: EditorWindow;
  readonly #shouldOpenDiffs: () => boolean;
  readonly #listeners: readonly Disposable[];
  #reviews: ReviewService | undefined;
  #shownSessionId: () => string = () => "";
  #files: readonly ReviewedFile[] = [];
  /** Shown proposals by the addresses of both sides. */
  readonly #proposals = new Map<string, ShownProposal>();
  #activeAt = 0;
  #lastCommand: Promise<void> = Promise.resolve();
  /** Whether VS Code runs the commands of keys in the order of the keys; see `#orderKeys`. */
  #areKeysInOrder = false;
  #editTimer: NodeJS.Timeout | undefined;

  constructor(editorWindow: EditorWindow, shouldOpenDiffs: () => boolean) {
    this.#editorWindow = editorWindow;
    this.#shouldOpenDiffs = shouldOpenDiffs;
    this.#inlineEdits = new InlineEdits(() => this.#reviews, this.#orderKeys());
    this.#listeners = [
      window.onDidChangeActiveTextEditor(() => {
        void this.#updateContext();
      }),
      window.onDidChangeVisibleTextEditors(() => {
        this.#decorate();
      }),
      window.onDidChangeTextEditorSelection(({ kind, textEditor }) => {
        if (kind !== undefined && textEditor.document.uri.scheme === "file") this.#activeAt = Date.now();
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        this.#onEdited(document);
      }),
    ];
    // After a reload of the window, VS Code opens diffs again whose texts are gone.
    void closeDiffs((left, right) => [left, right].some(({ scheme }) => scheme === SCHEME));
  }

  /** Connect the services that carry out what the user chooses. */
  connect(reviews: ReviewService, shownSessionId: () => string): void {
    this.#reviews = reviews;
    this.#shownSessionId = shownSessionId;
  }

  showChanges(files: readonly ReviewedFile[]): void {
    this.#files = files;
    for (const { path, before } of files) this.#documents.write(uriOf(path, BEFORE), before ?? "");
    this.#tree.show(files);
    this.#inlineEdits.showChanges(files);
    void commands.executeCommand("setContext", "acpServer.hasChanges", files.length > 0);
    this.#lenses.refresh();
    this.#decorate();
    void this.#updateContext();
  }

  async showProposal(proposal: Proposal): Promise<void> {
    const isNew = ![...this.#proposals.values()].some((shown) => shown.proposal.questionId === proposal.questionId);
    for (const file of proposal.files) {
      const [left, right] = sidesOf(proposal, file.path);
      const shown = { proposal, file, hunks: hunksBetween(file.before ?? "", file.text) };
      for (const uri of [left, right]) this.#proposals.set(uri.toString(), shown);
      this.#documents.write(left, file.before ?? "");
      this.#documents.write(right, file.text);
    }
    this.#lenses.refresh();
    const isBusy = this.#inlineEdits.showProposal(proposal) || Date.now() - this.#activeAt < BUSY_MILLISECONDS;
    if (isNew && !isBusy && this.#shouldOpenDiffs()) await this.#openProposal(proposal, true);
    void this.#updateContext();
  }

  async closeProposal(questionId: string): Promise<void> {
    this.#inlineEdits.closeProposal(questionId);
    const isOf = (shown: ShownProposal | undefined): boolean => shown?.proposal.questionId === questionId;
    const uris = [...this.#proposals].filter(([, shown]) => isOf(shown)).map(([key]) => key);
    for (const key of uris) this.#proposals.delete(key);
    await closeDiffs((_, right) => uris.includes(right.toString()));
    for (const key of uris) this.#documents.forget(Uri.parse(key));
    void this.#updateContext();
  }

  /** Show the change of selected lines at their place, as soon as the agent proposes or writes it. */
  beginInlineEdit(edit: InlineEdit): void {
    this.#inlineEdits.begin(edit);
  }

  endTurn(sessionId: string): void {
    this.#inlineEdits.endTurn(sessionId);
    void this.#updateContext();
  }

  async openProposal(proposal: Proposal): Promise<void> {
    await this.#openProposal(proposal, false);
  }

  openDiff(path: string, oldText: string, newText: string): Promise<void> {
    return this.#documents.showCopies(path, oldText, newText);
  }

  async openChange(path: string): Promise<void> {
    const title = `${basename(path)} (before ↔ now)`;
    const file = this.#files.find((each) => each.path === path);
    if (file?.kind === "deleted") await this.openDiff(path, file.before ?? "", "");
    else await openDiff(uriOf(path, BEFORE), Uri.file(path), title, { preview: true });
  }

  /**
   * Make VS Code run the commands of keys in the order of the keys, and bind the keys then.
   *
   * The first time that a window uses a command, VS Code asks its extensions to activate and runs it after their answers; a command that
   * it has used before overtakes it. "Keep, next, reject" would reject before it keeps, and so another part. So all are used here once.
   */
  async #orderKeys(): Promise<void> {
    const used = KEY_COMMANDS.map((name) => ({ command: `acpServer.${name}`, args: [FIRST_USE] }));
    const bind = (): Promise<void> => {
      this.#areKeysInOrder = true;
      return this.#updateContext();
    };
    // An editor that refuses has the keys nevertheless: a part that is not at the cursor is refused anyway.
    await commands.executeCommand("runCommands", { commands: used }).then(bind, bind);
  }

  /** Carry out one of the commands of `REVIEW_COMMANDS`, on what VS Code passes with it. */
  run(name: string, args: readonly unknown[]): Promise<void> {
    if (args[0] === FIRST_USE) return Promise.resolve();
    // One after the other: a key that follows quickly means the changes as the one before leaves them.
    const done = this.#lastCommand.then(() => this.#run(name, args));
    this.#lastCommand = done.catch(() => undefined);
    return done;
  }

  async #run(name: string, [target, hunkId]: readonly unknown[]): Promise<void> {
    const windowCommand = this.#windowCommands[name];
    if (windowCommand !== undefined) {
      await windowCommand();
      return;
    }
    const decided = hunkId === undefined ? this.#inlineEdits.run(name, pathOf(target)) : undefined;
    if (decided !== undefined) return decided;
    const path = pathOf(target) ?? this.#activePath();
    const clicked = typeof hunkId === "string" ? hunkId : undefined;
    const shown = this.#activeProposal();
    const isForProposal = shown !== undefined && !FILE_COMMANDS.has(name) && (path ?? shown.file.path) === shown.file.path;
    if (isForProposal) await this.#runOnProposal(name, shown, clicked);
    else if (path !== undefined) await this.#runOnFile(name, path, clicked);
  }

  dispose(): void {
    clearTimeout(this.#editTimer);
    for (const each of [...this.#listeners, this.#documents, this.#decorations, this.#inlineEdits, this.#tree, this.#lenses]) each.dispose();
  }

  /** `clicked` is the part that a CodeLens named; without it, the part at the cursor is meant. */
  async #runOnProposal(name: string, shown: ShownProposal, clicked: string | undefined): Promise<void> {
    const { file, proposal: { questionId } } = shown;
    const proposals = this.#reviews?.proposals;
    if (name === "allow" || name === "allowAll") await proposals?.accept(questionId);
    else if (name === "reject" || name === "rejectAll") await proposals?.reject(questionId);
    else if (name === "restoreHunks") await proposals?.restoreHunks(questionId, file.path);
    else if (name === "revertHunk") await this.#rejectPart(shown, clicked);
    else if (name === "keepHunk") await this.#goToChange(1);
  }

  async #rejectPart({ proposal, file }: ShownProposal, clicked: string | undefined): Promise<void> {
    const hunkId = clicked ?? this.#partAt(cursorLines());
    if (hunkId !== undefined) await this.#reviews?.proposals.rejectHunk(proposal.questionId, file.path, hunkId);
  }

  async #runOnFile(name: string, path: string, clicked: string | undefined): Promise<void> {
    const part = PART_COMMANDS[name];
    const whole = WHOLE_COMMANDS[name];
    const proposed = name === "openParts" ? [...this.#proposals.values()].find(({ file }) => file.path === path) : undefined;
    if (proposed !== undefined) await this.#openProposal(proposed.proposal, false);
    else if (name === "openChange" || name === "openParts") await this.openChange(path);
    else if (whole !== undefined) await this.#reviews?.[whole](this.#shownSessionId(), path, "");
    else if (part !== undefined) {
      const hunkId = clicked ?? (await this.#writtenPartAtCursor(path));
      if (hunkId !== undefined) await this.#reviews?.[part](this.#shownSessionId(), path, hunkId);
    }
  }

  /** Return the part of a written change at the cursor, in the text as it is now: typing moves the parts. */
  async #writtenPartAtCursor(path: string): Promise<string | undefined> {
    const cursor = this.#activePath() === path ? cursorLines() : undefined;
    await this.#reviews?.refresh(this.#shownSessionId());
    return this.#partAt(cursor);
  }

  async #openProposal(proposal: Proposal, preserveFocus: boolean): Promise<void> {
    const diffs = proposal.files.slice(0, MAX_OPENED_FILES).map(({ path, isWhole }, index, { length }): Diff => {
      const kind = isWhole ? t("proposed") : t("proposed, in part");
      return [...sidesOf(proposal, path), `${basename(path)} (${length > 1 ? t("{0}, {1} of {2}", kind, index + 1, proposal.files.length) : kind})`];
    });
    await openDiffs(diffs, { preview: false, preserveFocus });
  }

  /** Compute the changes again once the user pauses. */
  #onEdited({ uri }: TextDocument): void {
    if (uri.scheme !== "file" || !this.#files.some(({ path }) => path === uri.fsPath)) return;
    this.#editTimer ??= setTimeout(() => {
      this.#editTimer = undefined;
      void this.#reviews?.refresh(this.#shownSessionId());
    }, EDIT_DELAY_MILLISECONDS);
  }

  #decorate(): void {
    for (const editor of window.visibleTextEditors) {
      const isDiff = editor.viewColumn === undefined;
      this.#decorations.show(editor, isDiff ? undefined : this.#fileOf(editor.document));
    }
  }

  /** Set what the titles of editors and the keybindings depend on. */
  async #updateContext(): Promise<void> {
    const proposed = this.#areKeysInOrder ? this.#activeProposal()?.proposal.files.length : undefined;
    const document = window.activeTextEditor?.document;
    const isChangedFile = this.#areKeysInOrder && document !== undefined && this.#fileOf(document) !== undefined;
    await Promise.all([
      commands.executeCommand("setContext", "acpServer.isProposal", proposed !== undefined),
      commands.executeCommand("setContext", "acpServer.isOfSeveralFiles", (proposed ?? 0) > 1),
      commands.executeCommand("setContext", "acpServer.isChangedFile", isChangedFile),
      commands.executeCommand("setContext", "acpServer.isInlineEdit", this.#areKeysInOrder && this.#inlineEdits.changeIn(undefined) !== null),
    ]);
  }

  /** Return the changed file that a document shows: the file itself, or its text from before. */
  #fileOf({ uri }: TextDocument): ReviewedFile | undefined {
    const isShown = uri.scheme === "file" || (uri.scheme === SCHEME && uri.query === BEFORE);
    return isShown ? this.#files.find(({ path }) => Uri.file(path).fsPath === uri.fsPath) : undefined;
  }

  #activeProposal(): ShownProposal | undefined {
    const uri = window.activeTextEditor?.document.uri;
    return uri && this.#proposals.get(uri.toString());
  }

  #activePath(): string | undefined {
    const document = window.activeTextEditor?.document;
    return document && this.#fileOf(document)?.path;
  }

  #reviewed(document: TextDocument): ReviewedDocument | undefined {
    const shown = this.#proposals.get(document.uri.toString());
    if (shown !== undefined) {
      const { path, isWhole, rejected } = shown.file;
      const fileCount = shown.proposal.files.length;
      if (!document.uri.query.startsWith("new-")) return undefined;
      return { isProposal: true, path, hunks: isWhole ? shown.hunks : [], rejectedCount: rejected.length, fileCount };
    }
    const file = document.uri.scheme === "file" ? this.#fileOf(document) : undefined;
    return file && { isProposal: false, path: file.path, hunks: file.hunks, rejectedCount: 0, fileCount: 0 };
  }

  #hunksOf(document: TextDocument): readonly Hunk[] {
    return this.#proposals.get(document.uri.toString())?.hunks ?? this.#fileOf(document)?.hunks ?? [];
  }

  /**
   * Return the id of the part that the cursors are in.
   *
   * A part is never guessed, because a wrong one would be lost: without exactly one, the user is told.
   */
  #partAt(cursor: CursorLines | undefined): string | undefined {
    const found = cursor?.document.version === cursor?.version ? this.#partsAt(cursor) : [];
    const [part] = found;
    if (part !== undefined && found.length === 1) return part.id;
    void this.#editorWindow.showInformation(NOT_AT_A_PART, []);
    return undefined;
  }

  #partsAt(cursor: CursorLines | undefined): readonly Hunk[] {
    if (cursor === undefined) return [];
    const { document, lines } = cursor;
    return this.#hunksOf(document).filter((hunk) => {
      const { first, last } = linesIn(document, hunk);
      return lines.some((line) => first <= line && line <= last);
    });
  }

  /** Move the cursor to the next or previous change; behind the last one, to the next changed file. */
  async #goToChange(direction: 1 | -1): Promise<void> {
    const editor = window.activeTextEditor;
    if (editor === undefined) return;
    const line = editor.selection.active.line + 1;
    const starts = this.#hunksOf(editor.document).map((hunk) => linesIn(editor.document, hunk).first);
    const found = starts.filter((each) => (direction > 0 ? each > line : each < line));
    const start = direction > 0 ? found[0] : found.at(-1);
    if (start !== undefined) {
      moveTo(editor, start);
      // A report of an earlier move that is on its way undoes this one here for a moment. VS Code answers in order: once it has answered
      // anything, the cursor that the next command reads is the one that the user sees.
      await this.#updateContext();
    }
    if (start === undefined && this.#activeProposal() === undefined) await this.#openNeighbour(direction);
  }

  async #openNeighbour(direction: 1 | -1): Promise<void> {
    const present = this.#files.filter(({ kind }) => kind !== "deleted");
    const index = present.findIndex(({ path }) => path === this.#activePath());
    const next = present.at((index + direction) % present.length);
    const hunk = direction > 0 ? next?.hunks[0] : next?.hunks.at(-1);
    if (next !== undefined && hunk !== undefined) await this.#editorWindow.openFile(next.path, hunk.newLine, true);
  }
}

function sidesOf({ questionId }: Proposal, path: string): readonly [Uri, Uri] {
  return [uriOf(path, `old-${questionId}`), uriOf(path, `new-${questionId}`)];
}

/** Return the path that a command was given: itself, of an entry of the list, or of an editor's title. */
function pathOf(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (target instanceof Uri) return target.scheme === "file" ? target.fsPath : undefined;
  if (typeof target === "object" && target !== null && "path" in target) return String(target.path);
  return undefined;
}

function cursorLines(): CursorLines | undefined {
  const editor = window.activeTextEditor;
  if (editor === undefined) return undefined;
  const { document, selections } = editor;
  return { document, version: document.version, lines: selections.map(({ active }) => active.line + 1) };
}

/** Return the lines from 1 that a part has in a document; one that has none there is in the line that it stands before. */
function linesIn({ uri, lineCount }: TextDocument, { oldLine, newLine, removed, added }: Hunk): { readonly first: number; readonly last: number } {
  const isOldSide = uri.scheme === SCHEME && (uri.query === BEFORE || uri.query.startsWith("old-"));
  const [start, count] = isOldSide ? [oldLine, removed.length] : [newLine, added.length];
  const first = Math.min(start, lineCount);
  return { first, last: first + Math.max(count, 1) - 1 };
}

function moveTo(editor: TextEditor, line: number): void {
  const position = new Position(line - 1, 0);
  editor.selection = new Selection(position, position);
  editor.revealRange(new Range(position, position), TextEditorRevealType.InCenterIfOutsideViewport);
}
