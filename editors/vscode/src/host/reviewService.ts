/**
 * Reviews of the agent's changes, per session.
 *
 * Publishes and saves the list of changes after every operation, and asks for confirmation before a
 * revert would lose other edits.
 */
import { basename } from "node:path";
import type { ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { ChangedFile, SessionEvent } from "../shared/events.js";
import { ChangeTracker } from "./changeTracker.js";
import type { FileService } from "./fileService.js";
import type { EditorWindow, TextStore } from "./ports.js";
import { ProposalService, type Proposal } from "./proposalService.js";
import { ReviewStore, type SavedChange } from "./reviewStore.js";
import { t } from "../shared/l10n.js";

export interface ReviewContext {
  readonly fileService: FileService;
  readonly textStore: TextStore;
  readonly editorWindow: Pick<EditorWindow, "confirm" | "choose">;
  labelOf(path: string): string;
  publish(sessionId: string, event: SessionEvent): void;
  /** Return a session's logged events, in order. */
  eventsOf(sessionId: string): readonly SessionEvent[];
  shownSessionId(): string;
  /** Id of a permission request's first option of a kind; empty if it is answered, or has none. */
  optionOf(questionId: string, kind: "allow_once" | "reject_once"): string;
  /** Answer a permission request; a reason reaches the agent first. */
  answer(questionId: string, optionId: string, reason: string): Promise<void>;
}

/** A changed file, with its text from before the agent's first write; null if it did not exist. */
export interface ReviewedFile extends ChangedFile {
  readonly before: string | null;
}

/** Shows changes in the editor. */
export interface ReviewDisplay {
  /** Show the changes of the shown session, to be kept or reverted. */
  showChanges(files: readonly ReviewedFile[]): void;
  /** Show a proposed change, or show it again because a part of it was rejected. */
  showProposal(proposal: Proposal): Promise<void>;
  /** Open the diffs of a shown proposal, because the user asked for them. */
  openProposal(proposal: Proposal): Promise<void>;
  closeProposal(questionId: string): Promise<void>;
  /** Note the end of a turn of a session. */
  endTurn(sessionId: string): void;
  /** Open a diff of two texts. */
  openDiff(path: string, oldText: string, newText: string): Promise<void>;
  /** Open the diff between a changed file and its original text. */
  openChange(path: string): Promise<void>;
}

export class ReviewService {
  readonly proposals: ProposalService;
  readonly #context: ReviewContext;
  readonly #display: ReviewDisplay;
  readonly #reviewStore: ReviewStore;
  readonly #trackers = new Map<string, ChangeTracker>();
  /** Serializes all operations: two at once would start from the same texts and lose one result. */
  #queue: Promise<void> = Promise.resolve();

  constructor(context: ReviewContext, display: ReviewDisplay) {
    this.#context = context;
    this.#display = display;
    this.#reviewStore = new ReviewStore(context.textStore);
    this.proposals = new ProposalService(context, display);
  }

  /** Record a write that the agent made with `fs/write_text_file`. */
  onFileWritten(sessionId: string, path: string, before: string | null): Promise<void> {
    return this.#enqueue(async () => {
      await this.#trackerOf(sessionId).recordWrite(path, before);
      await this.#publishAndSave(sessionId);
    });
  }

  /** Record the diffs of a tool call that has ended, for writes that did not use `fs/write_text_file`. */
  onToolCallEnd(sessionId: string, { toolCallId, status }: ToolCallUpdate): Promise<void> {
    const partial = this.proposals.takePartial(sessionId, toolCallId);
    if (status !== "completed") return Promise.resolve();
    const diffs = this.proposals.diffsOf(sessionId, toolCallId);
    return this.#enqueue(async () => {
      const tracker = this.#trackerOf(sessionId);
      for (const [path, blocks] of diffs) await tracker.recordDiffs(path, blocks);
      for (const file of partial) {
        await this.proposals.applyPartial(file);
        await tracker.noteWrite(file.path);
      }
      await this.#publishAndSave(sessionId);
    });
  }

  /** Recompute the changes, because a turn ended or the user edited files. */
  refresh(sessionId: string): Promise<void> {
    return this.#enqueue(() => this.#publishAndSave(sessionId));
  }

  /** Note the end of a turn: what was accepted in part and not written, is not written any more. */
  async endTurn(sessionId: string): Promise<void> {
    this.proposals.forget(sessionId);
    await this.refresh(sessionId);
    this.#display.endTurn(sessionId);
  }

  /** Show the changes of the session that is shown now. */
  onShown(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#publishChanges(this.#context.shownSessionId());
      await this.proposals.onShown();
    });
  }

  /** Restore the changes that were saved when the session was last open. */
  restore(sessionId: string): Promise<void> {
    return this.#enqueue(async () => {
      if (!this.#trackers.has(sessionId)) {
        const saved = await this.#reviewStore.load(sessionId);
        if (saved.length === 0) return;
        this.#trackers.set(sessionId, this.#createTracker(saved));
      }
      await this.#publishAndSave(sessionId);
    });
  }

  keep(sessionId: string, path: string, hunkId: string): Promise<void> {
    return this.#enqueue(async () => {
      await this.#trackerOf(sessionId).keep(path, hunkId);
      await this.#publishAndSave(sessionId);
    });
  }

  keepAll(sessionId: string): Promise<void> {
    return this.#enqueue(async () => {
      const tracker = this.#trackerOf(sessionId);
      for (const path of tracker.paths) await tracker.keep(path, "");
      await this.#publishAndSave(sessionId);
    });
  }

  revert(sessionId: string, path: string, hunkId: string): Promise<void> {
    return this.#enqueue(async () => {
      const tracker = this.#trackerOf(sessionId);
      if (hunkId === "") await this.#revertFiles(tracker, [path]);
      else if (await this.#confirmHunk(tracker, path, hunkId)) await tracker.revert(path, hunkId);
      await this.#publishAndSave(sessionId);
    });
  }

  revertAll(sessionId: string): Promise<void> {
    return this.#enqueue(async () => {
      const tracker = this.#trackerOf(sessionId);
      const { paths } = tracker;
      const question = t("Revert all changes in {0} files?", paths.length);
      if (paths.length > 1 && !(await this.#context.editorWindow.confirm(question, t("Revert All")))) return;
      await this.#revertFiles(tracker, paths);
      await this.#publishAndSave(sessionId);
    });
  }

  /** Open a diff between a changed file and its original text. */
  openChange(path: string): Promise<void> {
    return this.#display.openChange(path);
  }

  forget(sessionId: string): Promise<void> {
    return this.#enqueue(() => {
      this.#trackers.delete(sessionId);
      return this.#reviewStore.forget(sessionId);
    });
  }

  /** Revert files, after the user has decided about the edits of others in them; nothing if one decision is cancelled. */
  async #revertFiles(tracker: ChangeTracker, paths: readonly string[]): Promise<void> {
    const reverts: (() => Promise<void>)[] = [];
    for (const path of paths) {
      const revert = await this.#revertOf(tracker, path);
      if (revert === undefined) return;
      reverts.push(revert);
    }
    for (const revert of reverts) await revert();
  }

  /** Return how to revert a file; undefined if the user cancels. No edit of others is lost unless the user chooses so. */
  async #revertOf(tracker: ChangeTracker, path: string): Promise<(() => Promise<void>) | undefined> {
    const revertAll = (): Promise<void> => tracker.revert(path, "");
    if (!(await tracker.isChangedByOthers(path))) return revertAll;
    const rest = await tracker.withoutAgentsChanges(path);
    const [agents, keep, all] = [t("Revert Only the Agent's Changes"), t("Keep the File"), t("Revert Everything")];
    const question = t("{0} was changed after the agent edited it. Revert those changes too?", basename(path));
    const chosen = await this.#context.editorWindow.choose(question, [rest === null ? keep : agents, all]);
    if (chosen === all) return revertAll;
    if (chosen === agents && rest !== null) return () => tracker.revertAgentsChanges(path, rest);
    return chosen === keep ? () => Promise.resolve() : undefined;
  }

  async #confirmHunk(tracker: ChangeTracker, path: string, hunkId: string): Promise<boolean> {
    if (await tracker.isAgentsHunk(path, hunkId)) return true;
    const question = t("This part of {0} was changed after the agent edited it. Revert it nevertheless?", basename(path));
    const revert = t("Revert");
    return (await this.#context.editorWindow.choose(question, [t("Keep It"), revert])) === revert;
  }

  #trackerOf(sessionId: string): ChangeTracker {
    const tracker = this.#trackers.get(sessionId) ?? this.#createTracker([]);
    this.#trackers.set(sessionId, tracker);
    return tracker;
  }

  #createTracker(saved: readonly SavedChange[]): ChangeTracker {
    return new ChangeTracker(this.#context.fileService, (path) => this.#context.labelOf(path), saved);
  }

  /** Publish the changes and save them at once, because the window may close at any moment. */
  async #publishAndSave(sessionId: string): Promise<void> {
    const tracker = this.#trackers.get(sessionId);
    if (tracker === undefined) return;
    await this.#publishChanges(sessionId);
    await this.#reviewStore.save(sessionId, tracker.saved);
  }

  /** Publish a session's changes to the chat, and show them in the editors if the session is shown. */
  async #publishChanges(sessionId: string): Promise<void> {
    const tracker = this.#trackers.get(sessionId);
    const files = (await tracker?.list()) ?? [];
    if (tracker !== undefined) this.#context.publish(sessionId, { type: "changes", files });
    if (sessionId !== this.#context.shownSessionId()) return;
    this.#display.showChanges(files.map((file) => ({ ...file, before: tracker?.before(file.path) ?? null })));
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(step);
    this.#queue = done.catch(() => undefined); // the caller gets the error through `done`; the next operation must still run
    return done;
  }
}
