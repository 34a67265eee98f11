/**
 * Edits of selected lines: the answer to a prompt at a selection is shown below it, and accepted or rejected there.
 *
 * Shown is only what changes the selected lines: first as a proposal, while the agent asks, else once it is written.
 * So only that is accepted there: other parts of a proposal are then rejected, and other written parts stay to be reviewed.
 * What is decided, and by which services, is up to `EditorReview`. Comment threads are the only place between the
 * lines of an editor that VS Code offers to extensions.
 */
import { CommentMode, comments, CommentThreadCollapsibleState, CommentThreadState, MarkdownString, Range, Uri, window, workspace, type CommentThread } from "vscode";
import type { Disposable } from "../host/ports.js";
import type { Proposal } from "../host/proposalService.js";
import type { ReviewedFile, ReviewService } from "../host/reviewService.js";
import { hunksBetween, type Hunk } from "../shared/hunks.js";
import { t } from "../shared/l10n.js";

/** The selected lines of a file, from 1, and what shall change in them. */
export interface SelectionEdit {
  readonly path: string;
  readonly firstLine: number;
  readonly lastLine: number;
  /** The text of the file when the user asked. */
  readonly text: string;
  readonly request: string;
}

export interface InlineEdit extends SelectionEdit {
  readonly sessionId: string;
  /** Whether another turn of the session ends before the one for this edit. */
  readonly isQueued: boolean;
}

/** The parts that are shown and can be accepted or rejected: of what a permission request proposes, or of a written change. */
type InlineChange = ProposedChange | WrittenChange;

interface ShownParts {
  readonly path: string;
  readonly hunkIds: readonly string[];
}

interface ProposedChange extends ShownParts {
  readonly kind: "proposal";
  readonly questionId: string;
}

interface WrittenChange extends ShownParts {
  readonly kind: "written";
  readonly sessionId: string;
}

interface OpenEdit {
  edit: InlineEdit;
  /** Null while there is nothing to show. */
  thread: CommentThread | null;
  change: InlineChange | null;
  /** Whether the user has accepted the proposal, whose parts are then kept as soon as they are written. */
  isAccepted: boolean;
}

const MAX_LINES = 60;

export class InlineEdits implements Disposable {
  readonly #controller = comments.createCommentController("acpServer.inlineEdit", "Hermes Agent");
  /** By path: a file has one at a time. */
  readonly #open = new Map<string, OpenEdit>();
  readonly #reviews: () => ReviewService | undefined;
  readonly #keysBound: Promise<void>;

  /** `keysBound` is done when the keys that accept and reject a change work. */
  constructor(reviews: () => ReviewService | undefined, keysBound: Promise<void>) {
    this.#reviews = reviews;
    this.#keysBound = keysBound;
  }

  /** Wait for the change of the selected lines: show that the agent works on it. */
  begin(edit: InlineEdit): void {
    this.#close(edit.path);
    const open = { edit, thread: null, change: null, isAccepted: false };
    this.#open.set(edit.path, open);
    this.#show(open, edit.lastLine, `$(loading~spin) ${t("Working…")} · ${link("focus", t("Show the Chat"))}`);
  }

  /** Return what can be accepted or rejected in a file, by default that of the active editor. */
  changeIn(path: string | undefined): InlineChange | null {
    const uri = window.activeTextEditor?.document.uri;
    const meant = path ?? (uri?.scheme === "file" ? uri.fsPath : "");
    return this.#open.get(meant)?.change ?? null;
  }

  /** Carry out a command on the change in a file, by default the active one; undefined if it does not mean one. */
  run(name: string, path: string | undefined): Promise<void> | undefined {
    const change = this.changeIn(path);
    if (change === null || (name !== "allow" && name !== "reject")) return undefined;
    const isAccepted = name === "allow";
    return change.kind === "written" ? this.#decide(change, isAccepted) : this.#answer(change, isAccepted);
  }

  async #answer({ questionId, path, hunkIds }: ProposedChange, isAccepted: boolean): Promise<void> {
    const open = this.#open.get(path);
    if (open !== undefined) open.isAccepted = isAccepted;
    const proposals = this.#reviews()?.proposals;
    await (isAccepted ? proposals?.acceptOnly(questionId, path, hunkIds) : proposals?.reject(questionId));
  }

  async #decide({ sessionId, path, hunkIds }: WrittenChange, isKept: boolean): Promise<void> {
    // The last one first: the others then stay where they are.
    for (const hunkId of hunkIds.toReversed()) await this.#reviews()?.[isKept ? "keep" : "revert"](sessionId, path, hunkId);
  }

  /** Show the part of a proposal that changes selected lines; return whether there is one. */
  showProposal({ questionId, sessionId, files }: Proposal): boolean {
    // Parts of texts that are not whole files are at no lines of the editor, and cannot be accepted one by one.
    if (!files.every(({ isWhole }) => isWhole)) return false;
    const changes = files.map(({ path, before, text }) => ({ path, hunks: hunksBetween(before ?? "", text) }));
    const count = changes.reduce((sum, { hunks }) => sum + hunks.length, 0);
    let isShown = false;
    for (const { path, hunks } of changes) {
      const open = this.#open.get(path);
      if (open?.edit.sessionId !== sessionId) continue;
      const hunkIds = partsIn(open.edit, hunks).map(({ id }) => id);
      isShown = this.#showChange(open, hunks, { kind: "proposal", questionId, path, hunkIds }, count) || isShown;
    }
    return isShown;
  }

  closeProposal(questionId: string): void {
    for (const open of this.#open.values()) {
      if (!isOf(open, questionId)) continue;
      open.change = null;
      open.thread?.dispose();
      open.thread = null;
    }
  }

  /** Show what was written into selected lines. */
  showChanges(files: readonly ReviewedFile[]): void {
    for (const open of this.#open.values()) {
      const { edit, change } = open;
      if (change?.kind === "proposal") continue;
      const now = openTextOf(edit.path);
      if (now === undefined) continue;
      const hunks = hunksBetween(edit.text, now);
      const written = linesAfter(edit, hunks);
      const parts = (files.find(({ path }) => path === edit.path)?.hunks ?? []).filter((hunk) => touches(hunk.newLine, hunk.added.length, written));
      const found = { kind: "written", sessionId: edit.sessionId, path: edit.path, hunkIds: parts.map(({ id }) => id) } as const;
      if (open.isAccepted && parts.length > 0) {
        open.isAccepted = false;
        open.edit = { ...edit, ...written, text: now };
        // What was accepted as a proposal needs no second look. The service that awaits this here keeps it later.
        void this.#decide(found, true);
      } else if (parts.length === 0 && change !== null) this.#close(edit.path);
      else if (parts.length > 0) this.#showChange(open, hunks, found, hunks.length);
    }
  }

  /** Note the end of a turn: what has not changed by now, will not. */
  endTurn(sessionId: string): void {
    for (const open of this.#open.values()) {
      const { edit, change } = open;
      if (edit.sessionId !== sessionId || change !== null) continue;
      if (edit.isQueued) open.edit = { ...edit, isQueued: false };
      else this.#close(edit.path);
    }
  }

  dispose(): void {
    this.#controller.dispose();
    this.#open.clear();
  }

  /** Show the parts of a file's change that are in the selected lines, of `count` parts in all; return whether there is one. */
  #showChange(open: OpenEdit, hunks: readonly Hunk[], change: InlineChange, count: number): boolean {
    const { edit } = open;
    const inLines = partsIn(edit, hunks);
    if (inLines.length === 0) return false;
    open.change = change;
    const last = change.kind === "proposal" ? edit.lastLine : linesAfter(edit, hunks).lastLine;
    const text = `${fenced(inLines)}\n\n${buttonsFor(edit.path, change, inLines.length, count)}`;
    // The text names the keys: a user who sees it may press them.
    void this.#keysBound.then(() => {
      if (this.#open.get(edit.path) === open && open.change === change) this.#show(open, last, text);
    });
    return true;
  }

  /** Show a text below a line, as Markdown. */
  #show(open: OpenEdit, line: number, text: string): void {
    const { path, request } = open.edit;
    const range = new Range(line - 1, 0, line - 1, 0);
    const thread = open.thread ?? this.#controller.createCommentThread(Uri.file(path), range, []);
    thread.canReply = false;
    thread.label = t("Edit: {0}", request);
    // An unresolved thread may open VS Code's list of comments.
    thread.state = CommentThreadState.Resolved;
    thread.collapsibleState = CommentThreadCollapsibleState.Expanded;
    thread.range = range;
    open.thread = thread;
    const body = new MarkdownString(text, true);
    body.isTrusted = { enabledCommands: ["acpServer.allow", "acpServer.reject", "acpServer.openParts", "acpServer.focus"] };
    thread.comments = [{ author: { name: "Hermes" }, mode: CommentMode.Preview, body }];
  }

  #close(path: string): void {
    this.#open.get(path)?.thread?.dispose();
    this.#open.delete(path);
  }
}

/** Return the text of an open document, with the lines that the editor shows. */
function openTextOf(path: string): string | undefined {
  return workspace.textDocuments.find(({ uri }) => uri.scheme === "file" && uri.fsPath === path)?.getText();
}

function isOf({ change }: OpenEdit, questionId: string): boolean {
  return change?.kind === "proposal" && change.questionId === questionId;
}

interface Lines {
  readonly firstLine: number;
  readonly lastLine: number;
}

/** Whether a part with its first line and number of lines changes given lines; one without lines stands before its line. */
function touches(start: number, count: number, { firstLine, lastLine }: Lines): boolean {
  return count === 0 ? firstLine <= start && start <= lastLine + 1 : start <= lastLine && start + count > firstLine;
}

function partsIn(lines: Lines, hunks: readonly Hunk[]): Hunk[] {
  return hunks.filter(({ oldLine, removed }) => touches(oldLine, removed.length, lines));
}

/** Return where lines are after a change. */
function linesAfter({ firstLine, lastLine }: Lines, hunks: readonly Hunk[]): Lines {
  const growthOf = (some: readonly Hunk[]): number => some.reduce((sum, { added, removed }) => sum + added.length - removed.length, 0);
  const before = hunks.filter(({ oldLine, removed }) => oldLine + removed.length <= firstLine && !touches(oldLine, removed.length, { firstLine, lastLine }));
  const inside = partsIn({ firstLine, lastLine }, hunks);
  const first = firstLine + growthOf(before);
  return { firstLine: first, lastLine: Math.max(first, lastLine + growthOf(before) + growthOf(inside)) };
}

/** Return parts as a code block that no line of theirs can end. */
function fenced(hunks: readonly Hunk[]): string {
  const lines = hunks.flatMap(({ removed, added }) => [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)]);
  const shown = lines.slice(0, MAX_LINES).map((line) => line.replace(/\r?\n$/, ""));
  if (lines.length > MAX_LINES) shown.push(t("… {0} more lines", lines.length - MAX_LINES));
  const longest = Math.max(2, ...(shown.join("\n").match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}diff\n${shown.join("\n")}\n${fence}`;
}

/** Return the links for `shown` of `count` parts. A proposal is rejected as a whole, a written change where it is shown. */
function buttonsFor(path: string, { kind }: InlineChange, shown: number, count: number): string {
  const isAll = shown === count;
  const isOne = shown === 1;
  const accept = isAll ? t("Accept") : isOne ? t("Accept This Part") : t("Accept These {0} Parts", shown);
  const revert = isAll ? t("Revert") : isOne ? t("Revert This Part") : t("Revert These {0} Parts", shown);
  const reject = isAll ? t("Reject") : t("Reject All {0} Parts", count);
  const review = isAll ? "" : ` · $(diff) ${link("openParts", t("Review All {0} Parts", count), path)}`;
  const control = process.platform === "darwin" ? "Cmd" : "Ctrl";
  return `$(check) ${link("allow", accept, path)} \`${control}+Alt+Y\` · $(close) ${link("reject", kind === "proposal" ? reject : revert, path)} \`${control}+Alt+N\`${review}`;
}

function link(command: string, title: string, ...args: readonly string[]): string {
  return `[${title}](command:acpServer.${command}?${encodeURIComponent(JSON.stringify(args))})`;
}
