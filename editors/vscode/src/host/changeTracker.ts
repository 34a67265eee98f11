/**
 * Changes by the agent that the user has neither kept nor reverted yet.
 *
 * Holds the text of each file from before the agent's first write, and applies keep and revert per
 * file and per hunk. Does not know how changes are displayed.
 */
import type { ChangedFile } from "../shared/events.js";
import { linesOf } from "../shared/diff.js";
import { hunksBetween, withHunkKept, withHunkReverted, type Hunk } from "../shared/hunks.js";
import { withoutDiffs, type DiffBlock } from "./diffBlocks.js";
import type { FileService } from "./fileService.js";
import { fingerprintOf, type SavedChange } from "./reviewStore.js";

interface TrackedFile {
  /** The text that a revert restores; null if the file did not exist. */
  before: string | null;
  /** Fingerprint of the text after the agent's last write. A different text means a later edit by others. */
  left: string;
  /** That text; undefined after a reload of the window. */
  leftText: string | null | undefined;
  /** Whether others changed the file between two writes of the agent. */
  hasOtherEdits: boolean;
  /** The contents of the agent's hunks since the window was opened; see `contentOf`. */
  readonly agentHunks: Set<string>;
}

/** Saved in place of the fingerprint of a file with edits by others: no text has it. */
const HAS_OTHER_EDITS = "edited";

export class ChangeTracker {
  readonly #files: FileService;
  readonly #labelOf: (path: string) => string;
  readonly #tracked: Map<string, TrackedFile>;
  /** Fingerprints of the texts that were recorded as writes: the diff of the same tool call, at its end, is no further change. */
  readonly #written = new Map<string, string>();
  /** Fingerprints of files that had their original text again: of that, and of what the agent's last write left. */
  readonly #settled = new Map<string, { readonly original: string; readonly left: string }>();

  constructor(files: FileService, labelOf: (path: string) => string, saved: readonly SavedChange[] = []) {
    this.#files = files;
    this.#labelOf = labelOf;
    this.#tracked = new Map(saved.map(({ path, before, left }) => [path, newlyTracked(before, left)]));
  }

  /** The state that another window needs to continue this review. */
  get saved(): readonly SavedChange[] {
    return [...this.#tracked].map(([path, { before, left, hasOtherEdits }]) => ({
      path,
      before,
      left: hasOtherEdits ? HAS_OTHER_EDITS : left,
    }));
  }

  /** Record that the agent wrote a file whose previous text was `before`. */
  async recordWrite(path: string, before: string | null): Promise<void> {
    const now = await this.#files.readText(path);
    this.#record(path, before, now);
    this.#written.set(path, fingerprintOf(now));
  }

  /**
   * Record a change that the agent made without `fs/write_text_file`, from the diffs of a completed tool call.
   *
   * Ignored unless the file now has their new texts, because diffs may cover only parts of a file.
   */
  async recordDiffs(path: string, diffs: readonly DiffBlock[]): Promise<void> {
    const now = await this.#files.readText(path);
    const written = this.#written.get(path);
    this.#written.delete(path);
    // Its file is perhaps not tracked any more: the user has kept the change, or it brought back the original text.
    if (written === fingerprintOf(now)) return;
    const before = withoutDiffs(now, diffs);
    const isNew = diffs.some(({ oldText }) => typeof oldText !== "string");
    if (before !== null) this.#record(path, isNew && before === "" ? null : before, now);
  }

  #record(path: string, before: string | null, now: string | null): void {
    const known = this.#tracked.get(path);
    // The diff of a write that was recorded already.
    if (known?.left === fingerprintOf(now)) return;
    // A write that brings back the original text is perhaps seen in the editor before it is recorded.
    const settled = known === undefined ? this.#settled.get(path) : undefined;
    if (settled?.left === fingerprintOf(before) && settled.original === fingerprintOf(now)) return;
    const tracked = known ?? newlyTracked(before, "");
    const isAsLeft = known === undefined || fingerprintOf(before) === known.left;
    tracked.hasOtherEdits ||= !isAsLeft;
    const starts = tracked.hasOtherEdits ? [before] : [before, tracked.before];
    const hunks = starts.flatMap((start) => hunksBetween(start ?? "", now ?? ""));
    for (const hunk of hunks) tracked.agentHunks.add(contentOf(hunk));
    tracked.left = fingerprintOf(now);
    tracked.leftText = now;
    this.#tracked.set(path, tracked);
  }

  /** Take a file's present text as the one that was written for the agent. */
  async noteWrite(path: string): Promise<void> {
    const tracked = this.#tracked.get(path);
    if (tracked === undefined) return;
    tracked.leftText = await this.#files.readText(path);
    tracked.left = fingerprintOf(tracked.leftText);
  }

  /** Return the files that differ now, sorted by path. Files with their original text are no longer tracked. */
  async list(): Promise<ChangedFile[]> {
    const changed: ChangedFile[] = [];
    for (const [path, { before, left }] of this.#tracked) {
      const now = await this.#files.readText(path);
      if (now === before) this.#settle(path, now, left);
      else changed.push(this.#describe(path, before, now));
    }
    return changed.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #settle(path: string, original: string | null, left: string): void {
    this.#tracked.delete(path);
    this.#settled.set(path, { original: fingerprintOf(original), left });
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
    if (tracked === undefined) return false;
    return tracked.hasOtherEdits || fingerprintOf(await this.#files.readText(path)) !== tracked.left;
  }

  /** Whether a hunk is exactly a change that the agent made, without later edits by others. */
  async isAgentsHunk(path: string, hunkId: string): Promise<boolean> {
    const tracked = this.#tracked.get(path);
    if (tracked === undefined || !(await this.isChangedByOthers(path))) return true;
    const now = (await this.#files.readText(path)) ?? "";
    const hunk = findHunk(tracked.before ?? "", now, hunkId);
    return hunk === undefined || tracked.agentHunks.has(contentOf(hunk));
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
    const isChangedByOthers = await this.isChangedByOthers(path);
    await this.#files.writeText(path, withHunkReverted(now, hunk));
    if (!isChangedByOthers) await this.noteWrite(path);
  }

  /** Return a file's text without the agent's changes, with the later edits of others; null if these cannot be told apart. */
  async withoutAgentsChanges(path: string): Promise<string | null> {
    const { before, leftText, hasOtherEdits = true } = this.#tracked.get(path) ?? {};
    const now = await this.#files.readText(path);
    if (hasOtherEdits || typeof before !== "string" || typeof leftText !== "string" || now === null) return null;
    return withEdits(before, leftText, now);
  }

  /** Undo the agent's changes of a file, without the later edits of others; `text` is from `withoutAgentsChanges`. */
  async revertAgentsChanges(path: string, text: string): Promise<void> {
    await this.#files.writeText(path, text);
    this.#tracked.delete(path);
  }

  async #restore(path: string, before: string | null): Promise<void> {
    if (before === null) await this.#files.remove(path);
    else await this.#files.writeText(path, before);
  }
}

function newlyTracked(before: string | null, left: string): TrackedFile {
  return { before, left, leftText: undefined, hasOtherEdits: false, agentHunks: new Set() };
}

/** Return the text from before a change, with the edits that were made after it; null if one is inside the change. */
function withEdits(before: string, changed: string, now: string): string | null {
  const changes = hunksBetween(before, changed);
  const edits = hunksBetween(changed, now);
  if (edits.length > 0 && before !== "" && !before.endsWith("\n")) return null;
  const lines = linesOf(before);
  for (const { oldLine: start, removed, added } of edits.reverse()) {
    let place = start - 1;
    for (const change of changes) {
      const isBefore = change.newLine + change.added.length <= start;
      if (isBefore) place += change.removed.length - change.added.length;
      else if (change.newLine < start + removed.length) return null;
    }
    lines.splice(place, removed.length, ...added);
  }
  return lines.join("");
}

/** Return what identifies a hunk wherever it is in a file. */
function contentOf({ removed, added }: Hunk): string {
  return JSON.stringify([removed, added]);
}

function findHunk(before: string, now: string, id: string): Hunk | undefined {
  return hunksBetween(before, now).find((hunk) => hunk.id === id);
}
