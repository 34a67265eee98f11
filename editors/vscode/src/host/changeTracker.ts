/**
 * Changes by the agent that the user has neither kept nor reverted yet.
 *
 * Holds the text of each file from before the agent's first write, and applies keep and revert per
 * file and per hunk. Does not know how changes are displayed.
 */
import type { ChangedFile } from "../shared/events.js";
import { hunksBetween, withHunkKept, withHunkReverted, type Hunk } from "../shared/hunks.js";
import type { FileService } from "./fileService.js";
import { fingerprintOf, type SavedChange } from "./reviewStore.js";

interface TrackedFile {
  /** The text that a revert restores; null if the file did not exist. */
  before: string | null;
  /** Fingerprint of the text after the agent's last write. A different text means a later edit by others. */
  left: string;
}

export class ChangeTracker {
  readonly #files: FileService;
  readonly #labelOf: (path: string) => string;
  readonly #tracked: Map<string, TrackedFile>;

  constructor(files: FileService, labelOf: (path: string) => string, saved: readonly SavedChange[] = []) {
    this.#files = files;
    this.#labelOf = labelOf;
    this.#tracked = new Map(saved.map(({ path, before, left }) => [path, { before, left }]));
  }

  /** The state that another window needs to continue this review. */
  get saved(): readonly SavedChange[] {
    return [...this.#tracked].map(([path, { before, left }]) => ({ path, before, left }));
  }

  /** Record that the agent wrote a file whose previous text was `before`. */
  async recordWrite(path: string, before: string | null): Promise<void> {
    const left = fingerprintOf(await this.#files.readText(path));
    const tracked = this.#tracked.get(path);
    if (tracked === undefined) this.#tracked.set(path, { before, left });
    else tracked.left = left;
  }

  /**
   * Record a change that the agent made without `fs/write_text_file`, from the diff of a completed tool call.
   *
   * Ignored unless the file now equals the diff's new text, because a diff may cover only part of a file.
   */
  async recordDiff(path: string, oldText: string | null, newText: string): Promise<void> {
    const tracked = this.#tracked.get(path);
    const now = await this.#files.readText(path);
    if (tracked !== undefined) tracked.left = fingerprintOf(now);
    else if (now === newText || (now === null && newText === "")) {
      this.#tracked.set(path, { before: oldText, left: fingerprintOf(now) });
    }
  }

  /** Return the files that differ now, sorted by path. Files with their original text are no longer tracked. */
  async list(): Promise<ChangedFile[]> {
    const changed: ChangedFile[] = [];
    for (const [path, { before }] of this.#tracked) {
      const now = await this.#files.readText(path);
      if (now === before) this.#tracked.delete(path);
      else changed.push(this.#describe(path, before, now));
    }
    return changed.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #describe(path: string, before: string | null, now: string | null): ChangedFile {
    const hunks = hunksBetween(before ?? "", now ?? "");
    const kind = before === null ? "added" : now === null ? "deleted" : "changed";
    const sum = (count: (hunk: Hunk) => number): number =>
      hunks.reduce((total, hunk) => total + count(hunk), 0);
    const added = sum((hunk) => hunk.added.length);
    const removed = sum((hunk) => hunk.removed.length);
    return { path, label: this.#labelOf(path), kind, added, removed, hunks };
  }

  /** Return a file's original text; null if it did not exist or is not tracked. */
  before(path: string): string | null {
    return this.#tracked.get(path)?.before ?? null;
  }

  /** Whether a file was changed after the agent's last write. */
  async isChangedByOthers(path: string): Promise<boolean> {
    const tracked = this.#tracked.get(path);
    return tracked !== undefined && fingerprintOf(await this.#files.readText(path)) !== tracked.left;
  }

  get paths(): readonly string[] {
    return [...this.#tracked.keys()];
  }

  /** Accept a file's change, or one hunk of it (`hunkId` not empty). An unknown hunk is ignored. */
  async keep(path: string, hunkId: string): Promise<void> {
    const tracked = this.#tracked.get(path);
    if (tracked === undefined) return;
    if (hunkId === "") {
      this.#tracked.delete(path);
      return;
    }
    const now = (await this.#files.readText(path)) ?? "";
    const hunk = findHunk(tracked.before ?? "", now, hunkId);
    if (hunk !== undefined) tracked.before = withHunkKept(tracked.before ?? "", hunk);
  }

  /** Undo a file's change, or one hunk of it (`hunkId` not empty). An unknown hunk is ignored. */
  async revert(path: string, hunkId: string): Promise<void> {
    const tracked = this.#tracked.get(path);
    if (tracked === undefined) return;
    if (hunkId === "") {
      await this.#restore(path, tracked.before);
      this.#tracked.delete(path);
      return;
    }
    const now = (await this.#files.readText(path)) ?? "";
    const hunk = findHunk(tracked.before ?? "", now, hunkId);
    if (hunk === undefined) return;
    await this.#files.writeText(path, withHunkReverted(now, hunk));
    tracked.left = fingerprintOf(await this.#files.readText(path));
  }

  async #restore(path: string, before: string | null): Promise<void> {
    if (before === null) await this.#files.remove(path);
    else await this.#files.writeText(path, before);
  }
}

function findHunk(before: string, now: string, id: string): Hunk | undefined {
  return hunksBetween(before, now).find((hunk) => hunk.id === id);
}
