/**
 * Reviews of the agent's changes, per session.
 *
 * Publishes and saves the list of changes after every operation, and asks for confirmation before a
 * revert would lose other edits.
 */
import { basename } from "node:path";
import type { SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "../shared/events.js";
import { ChangeTracker } from "./changeTracker.js";
import type { FileService } from "./fileService.js";
import type { EditorWindow } from "./ports.js";
import type { SavedChange, ReviewStore } from "./reviewStore.js";

export interface ReviewContext {
  readonly fileService: FileService;
  readonly reviewStore: ReviewStore;
  readonly editorWindow: EditorWindow;
  labelOf(path: string): string;
  publish(sessionId: string, event: SessionEvent): void;
}

export class ReviewService {
  readonly #context: ReviewContext;
  readonly #trackers = new Map<string, ChangeTracker>();
  /** Serializes all operations: two at once would start from the same texts and lose one result. */
  #queue: Promise<void> = Promise.resolve();

  constructor(context: ReviewContext) {
    this.#context = context;
  }

  /** Record a write that the agent made with `fs/write_text_file`. */
  onFileWritten(sessionId: string, path: string, before: string | null): Promise<void> {
    return this.#enqueue(async () => {
      await this.#trackerOf(sessionId).recordWrite(path, before);
      await this.#publishAndSave(sessionId);
    });
  }

  /** Record the diffs of a completed tool call, for writes that did not use `fs/write_text_file`. */
  onToolCallUpdate(sessionId: string, update: SessionUpdate): Promise<void> {
    const diffs = completedDiffs(update);
    if (diffs.length === 0) return Promise.resolve();
    return this.#enqueue(async () => {
      for (const { path, oldText, newText } of diffs) {
        await this.#trackerOf(sessionId).recordDiff(path, oldText ?? null, newText);
      }
      await this.#publishAndSave(sessionId);
    });
  }

  /** Recompute the changes, because a turn ended or the user edited files. */
  refresh(sessionId: string): Promise<void> {
    return this.#enqueue(() => this.#publishAndSave(sessionId));
  }

  /** Restore the changes that were saved when the session was last open. */
  restore(sessionId: string): Promise<void> {
    return this.#enqueue(async () => {
      if (!this.#trackers.has(sessionId)) {
        const saved = await this.#context.reviewStore.load(sessionId);
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
      if (hunkId === "" && !(await this.#confirmRevert(tracker, [path]))) return;
      await tracker.revert(path, hunkId);
      await this.#publishAndSave(sessionId);
    });
  }

  revertAll(sessionId: string): Promise<void> {
    return this.#enqueue(async () => {
      const tracker = this.#trackerOf(sessionId);
      const { paths } = tracker;
      const question = `Revert all changes in ${String(paths.length)} files?`;
      if (paths.length > 1 && !(await this.#context.editorWindow.confirm(question, "Revert All"))) return;
      if (!(await this.#confirmRevert(tracker, paths))) return;
      for (const path of paths) await tracker.revert(path, "");
      await this.#publishAndSave(sessionId);
    });
  }

  /** Open a diff between a changed file and its original text. */
  openDiff(sessionId: string, path: string): Promise<void> {
    return this.#context.editorWindow.openDiff(path, this.#trackerOf(sessionId).before(path) ?? "", null);
  }

  forget(sessionId: string): Promise<void> {
    return this.#enqueue(() => {
      this.#trackers.delete(sessionId);
      return this.#context.reviewStore.forget(sessionId);
    });
  }

  async #confirmRevert(tracker: ChangeTracker, paths: readonly string[]): Promise<boolean> {
    for (const path of paths) {
      if (!(await tracker.isChangedByOthers(path))) continue;
      const question = `${basename(path)} was changed after the agent edited it. Revert those changes too?`;
      if (!(await this.#context.editorWindow.confirm(question, "Revert"))) return false;
    }
    return true;
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
    this.#context.publish(sessionId, { type: "changes", files: await tracker.list() });
    await this.#context.reviewStore.save(sessionId, tracker.saved);
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(step);
    this.#queue = done.catch(() => undefined); // the caller gets the error through `done`; the next operation must still run
    return done;
  }
}

type Diff = Extract<ToolCallContent, { type: "diff" }>;

function completedDiffs(update: SessionUpdate): Diff[] {
  if (update.sessionUpdate !== "tool_call_update" || update.status !== "completed") return [];
  return (update.content ?? []).filter((part): part is Diff => part.type === "diff");
}
