/**
 * Proposed changes: what a permission request asks to write, before it is written.
 *
 * The user may reject some of its parts and accept the rest. Of a file that the agent writes through the editor,
 * the rejected parts are then never written; of another, they are reverted as soon as the agent has written them.
 */
import type { WriteTextFileRequest } from "@agentclientprotocol/sdk";
import type { PartsEvent, PermissionEvent, RejectedPart, SessionEvent } from "../shared/events.js";
import { hunksBetween, PARTLY_ACCEPTED, withHunkReverted, type Hunk } from "../shared/hunks.js";
import { diffsByPath, hasSameLines, withDiffs, withNewlinesOf, type DiffBlock } from "./diffBlocks.js";
import type { ReviewContext, ReviewDisplay } from "./reviewService.js";

/** A file of a proposal. `text` is what will be written: the agent's text without the rejected parts. */
export interface ProposedFile {
  readonly path: string;
  /** The present text; null for a new file. */
  readonly before: string | null;
  readonly proposed: string;
  readonly text: string;
  readonly rejected: readonly Hunk[];
  /** Whether both are whole files; otherwise they are parts, which cannot be rejected one by one. */
  readonly isWhole: boolean;
}

export interface Proposal {
  readonly questionId: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly files: readonly ProposedFile[];
}

interface PartialAcceptance {
  readonly sessionId: string;
  readonly callId: string;
  readonly file: ProposedFile;
}

export class ProposalService {
  readonly #context: ReviewContext;
  readonly #display: ReviewDisplay;
  readonly #open = new Map<string, Proposal>();
  #accepted: readonly PartialAcceptance[] = [];

  constructor(context: ReviewContext, display: ReviewDisplay) {
    this.#context = context;
    this.#display = display;
  }

  /** Show what a permission request proposes; nothing if it has no diffs. */
  async show(sessionId: string, event: PermissionEvent): Promise<void> {
    const { toolCallId: callId } = event.call;
    const diffs = this.diffsOf(sessionId, callId);
    const files = await Promise.all([...diffs].map(([path, blocks]) => this.#proposedFile(path, blocks)));
    const isOpen = !this.#context.eventsOf(sessionId).some((each) => each.type === "answered" && each.questionId === event.questionId);
    if (files.length === 0 || !isOpen) return;
    const proposal = { questionId: event.questionId, sessionId, callId, files };
    this.#open.set(event.questionId, proposal);
    if (sessionId === this.#context.shownSessionId()) await this.#display.showProposal(proposal);
  }

  /** Show the open proposals of the session that is shown now. */
  async onShown(): Promise<void> {
    const shown = this.#context.shownSessionId();
    for (const proposal of this.#open.values()) if (proposal.sessionId === shown) await this.#display.showProposal(proposal);
  }

  async withdraw(questionId: string): Promise<void> {
    if (this.#open.delete(questionId)) await this.#display.closeProposal(questionId);
  }

  /** Reject a part of a proposed file; an unknown one is ignored. */
  async rejectHunk(questionId: string, path: string, hunkId: string): Promise<void> {
    await this.#change(questionId, path, (file) => {
      const hunk = hunksBetween(file.before ?? "", file.text).find(({ id }) => id === hunkId);
      if (hunk === undefined || !file.isWhole) return file;
      return { ...file, text: withHunkReverted(file.text, hunk), rejected: [...file.rejected, hunk] };
    });
  }

  /** Take back that parts of a proposed file were rejected. */
  async restoreHunks(questionId: string, path: string): Promise<void> {
    await this.#change(questionId, path, (file) => ({ ...file, text: file.proposed, rejected: [] }));
  }

  /** Whether the user rejected parts of an open proposal. */
  hasRejectedParts(questionId: string): boolean {
    return this.#open.get(questionId)?.files.some(({ rejected }) => rejected.length > 0) === true;
  }

  /**
   * Accept a proposal without its rejected parts; if nothing is left of it, reject it.
   *
   * `optionId` is the answer to the permission request, by default that of allowing it once.
   */
  async accept(questionId: string, optionId: string = this.#context.optionOf(questionId, "allow_once")): Promise<void> {
    const proposal = this.#open.get(questionId);
    if (proposal === undefined) return;
    const { sessionId, callId, files } = proposal;
    if (files.every(({ text, before }) => text === (before ?? "")) && this.hasRejectedParts(questionId)) {
      await this.reject(questionId);
      return;
    }
    const partial = files.filter(({ rejected }) => rejected.length > 0);
    const isSame = (one: PartialAcceptance): boolean => one.sessionId === sessionId && partial.some(({ path }) => path === one.file.path);
    const added = partial.map((file) => ({ sessionId, callId, file }));
    this.#accepted = [...this.#accepted.filter((each) => !isSame(each)), ...added];
    await this.#context.answer(questionId, optionId, partial.length === 0 ? "" : this.#reasonOf(partial));
  }

  /** Accept only these parts of one file: all others of the proposal are rejected. Without one of them, it is rejected. */
  async acceptOnly(questionId: string, path: string, hunkIds: readonly string[]): Promise<void> {
    const proposal = this.#open.get(questionId);
    if (proposal === undefined) return;
    const files = proposal.files.map((file) => {
      const others = hunksBetween(file.before ?? "", file.text).filter(({ id }) => file.path !== path || !hunkIds.includes(id));
      const text = others.reduceRight((left, hunk) => withHunkReverted(left, hunk), file.text);
      return { ...file, text, rejected: [...file.rejected, ...others] };
    });
    this.#setFiles(proposal, files);
    await this.accept(questionId);
  }

  async reject(questionId: string): Promise<void> {
    await this.#context.answer(questionId, this.#context.optionOf(questionId, "reject_once"), "");
  }

  /**
   * Return the text to write for a request of the agent: without the parts that the user rejected.
   *
   * @throws if the request is not the change that the user has accepted in part.
   */
  textToWrite({ sessionId, path, content }: WriteTextFileRequest, before: string | null): string {
    const accepted = this.#accepted.find((each) => each.sessionId === sessionId && each.file.path === path);
    if (accepted === undefined) return content;
    this.#accepted = this.#accepted.filter((each) => each !== accepted);
    const { file } = accepted;
    if (!hasSameLines(content, file.proposed) || !hasSameLines(before ?? "", file.before ?? "")) {
      throw new Error(`${path} was changed after the user accepted a part of the change. Nothing was written; read the file again.`);
    }
    return withNewlinesOf(content, file.text);
  }

  /** Return the files of a call that were accepted in part and not written through the editor; they are forgotten. */
  takePartial(sessionId: string, callId: string): readonly ProposedFile[] {
    const taken = this.#accepted.filter((each) => each.sessionId === sessionId && each.callId === callId);
    this.#accepted = this.#accepted.filter((each) => !taken.includes(each));
    return taken.map(({ file }) => file);
  }

  /** Revert the rejected parts of a file that the agent has written itself. */
  async applyPartial(file: ProposedFile): Promise<void> {
    const now = await this.#context.fileService.readText(file.path);
    if (now !== null) await this.#context.fileService.writeText(file.path, withoutRejected(now, file));
  }

  /** Forget what was accepted in part and not written. */
  forget(sessionId: string): void {
    this.#accepted = this.#accepted.filter((each) => each.sessionId !== sessionId);
  }

  /** Open the diff of a tool call. */
  async openDiff(sessionId: string, callId: string, path: string): Promise<void> {
    const blocks = this.diffsOf(sessionId, callId).get(path);
    const [block] = blocks ?? [];
    if (block === undefined) return;
    const open = [...this.#open.values()].find((each) => each.sessionId === sessionId && each.callId === callId);
    if (open !== undefined) await this.#display.openProposal(open);
    else await this.#display.openDiff(path, block.oldText ?? "", this.#acceptedText(sessionId, callId, block));
  }

  /** Return the latest diffs of a tool call, by path; its permission request may have them alone. */
  diffsOf(sessionId: string, callId: string): ReadonlyMap<string, readonly DiffBlock[]> {
    return diffsByPath(this.#blocksOf(sessionId, callId));
  }

  #blocksOf(sessionId: string, callId: string): readonly DiffBlock[] {
    const found = this.#context
      .eventsOf(sessionId)
      .map((event) => contentOf(event, callId) ?? [])
      .findLast(({ length }) => length > 0);
    return found ?? [];
  }

  /** Set the files of an open proposal, and tell the chat which parts are rejected. */
  #setFiles(proposal: Proposal, files: readonly ProposedFile[]): Proposal {
    const changed = { ...proposal, files };
    this.#open.set(proposal.questionId, changed);
    const { sessionId, callId } = proposal;
    this.#context.publish(sessionId, partsEvent(callId, files, this.#blocksOf(sessionId, callId)));
    return changed;
  }

  /** Return the new text of a diff without the parts that the user rejected. */
  #acceptedText(sessionId: string, callId: string, block: DiffBlock): string {
    const { oldText, newText } = block;
    const diff = this.#blocksOf(sessionId, callId).indexOf(block);
    const parts = this.#context.eventsOf(sessionId).findLast((event): event is PartsEvent => event.type === "parts" && event.callId === callId);
    const isRejected = ({ oldLine, newLine }: Hunk): boolean =>
      parts?.rejected.some((part) => part.diff === diff && part.oldStart === oldLine - 1 && part.newStart === newLine - 1) === true;
    return hunksBetween(oldText ?? "", newText).filter(isRejected).reduceRight(withHunkReverted, newText);
  }

  async #change(questionId: string, path: string, change: (file: ProposedFile) => ProposedFile): Promise<void> {
    const proposal = this.#open.get(questionId);
    if (proposal === undefined) return;
    const files = proposal.files.map((file) => (file.path === path ? change(file) : file));
    await this.#display.showProposal(this.#setFiles(proposal, files));
  }

  async #proposedFile(path: string, blocks: readonly DiffBlock[]): Promise<ProposedFile> {
    const before = await this.#context.fileService.readText(path);
    const proposed = withDiffs(before, blocks);
    if (proposed !== null) return { path, before, proposed, text: proposed, rejected: [], isWhole: true };
    const [first] = blocks;
    const newText = first?.newText ?? "";
    return { path, before: first?.oldText ?? null, proposed: newText, text: newText, rejected: [], isWhole: false };
  }

  #reasonOf(files: readonly ProposedFile[]): string {
    const parts = files.flatMap(({ path, rejected }) =>
      rejected.map((hunk) => `\`${this.#context.labelOf(path)}\`, line ${String(hunk.newLine)}:\n\`\`\`diff\n${diffText(hunk)}\`\`\``),
    );
    return `${PARTLY_ACCEPTED} I rejected these parts, so the files do not have them:\n\n${parts.join("\n\n")}`;
  }
}

/** Return which parts of a call's diffs are rejected. */
function partsEvent(callId: string, files: readonly ProposedFile[], blocks: readonly DiffBlock[]): PartsEvent {
  const shown = blocks.map(({ path, oldText, newText }) => ({ path, hunks: hunksBetween(oldText ?? "", newText) }));
  const parts = files.map(({ path, before, proposed, rejected, isWhole }) => {
    const inDiffs = shown.flatMap((block, diff) => (block.path === path ? block.hunks.map((hunk) => ({ diff, hunk })) : []));
    const proposedHunks = isWhole ? hunksBetween(before ?? "", proposed) : inDiffs.map(({ hunk }) => hunk);
    return {
      total: proposedHunks.length,
      rejected: rejected.map((part): RejectedPart => {
        // A diff may cover only a piece of the file, so that its lines have other numbers.
        const place = proposedHunks.filter((hunk) => hasSameContent(hunk, part)).findIndex(({ oldLine }) => oldLine === part.oldLine);
        const { diff, hunk } = inDiffs.filter((each) => hasSameContent(each.hunk, part))[place] ?? { diff: -1, hunk: part };
        const [oldStart, newStart] = [hunk.oldLine - 1, hunk.newLine - 1];
        return { diff, oldStart, oldEnd: oldStart + hunk.removed.length, newStart, newEnd: newStart + hunk.added.length };
      }),
    };
  });
  return { type: "parts", callId, total: parts.reduce((sum, { total }) => sum + total, 0), rejected: parts.flatMap(({ rejected }) => rejected) };
}

function hasSameContent(one: Hunk, other: Hunk): boolean {
  return diffText(one) === diffText(other);
}

function contentOf(event: SessionEvent, callId: string): DiffBlock[] | undefined {
  const call = event.type === "permission" ? event.call : event.type === "update" ? event.update : null;
  if (call === null || !("toolCallId" in call) || call.toolCallId !== callId) return undefined;
  return call.content?.filter((part): part is DiffBlock => part.type === "diff");
}

function diffText({ removed, added }: Hunk): string {
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  return lines.map((line) => line.replace(/\r?\n?$/, "\n")).join("");
}

/** Return a written text without the rejected parts of the file's change. */
function withoutRejected(now: string, file: ProposedFile): string {
  if (hasSameLines(now, file.proposed)) return withNewlinesOf(now, file.text);
  // The agent wrote something else, or a formatter ran: the parts are found by their lines.
  const isRejected = (hunk: Hunk): boolean =>
    file.rejected.some(({ removed, added }) => removed.join("") === hunk.removed.join("") && added.join("") === hunk.added.join(""));
  const hunks = hunksBetween(file.before ?? "", now).filter(isRejected);
  return hunks.reduceRight((text, hunk) => withHunkReverted(text, hunk), now);
}
