/**
 * What the agent has changed and the user has not settled.
 *
 * Owns the text of each file from before the agent's first write, and what keeping and reverting
 * make of it, per file and per hunk. Refuses to know how changes are shown.
 */
import type { ChangedFile } from "../shared/events.js";
import { hunksBetween, withHunkKept, withHunkReverted, type Hunk } from "../shared/hunks.js";
import type { Files } from "./files.js";
import { fingerprintOf, type KeptChange } from "./reviewArchive.js";

interface Tracked {
  /** What reverting leads to; null: the file was not there. */
  before: string | null;
  /** The fingerprint of what the agent left; anything else has been changed by somebody since. */
  left: string;
}

export class Changes {
  readonly #files: Files;
  readonly #label: (path: string) => string;
  readonly #tracked: Map<string, Tracked>;

  constructor(files: Files, label: (path: string) => string, kept: readonly KeptChange[] = []) {
    this.#files = files;
    this.#label = label;
    this.#tracked = new Map(kept.map(({ path, before, left }) => [path, { before, left }]));
  }

  /** What another window needs to go on from here. */
  get kept(): readonly KeptChange[] {
    return [...this.#tracked].map(([path, { before, left }]) => ({ path, before, left }));
  }

  /** Note that the agent wrote a file that held `before`. */
  async note(path: string, before: string | null): Promise<void> {
    const left = fingerprintOf(await this.#files.text(path));
    const tracked = this.#tracked.get(path);
    if (tracked === undefined) this.#tracked.set(path, { before, left });
    else tracked.left = left;
  }

  /**
   * Note a change that did not pass through us, as a finished call shows it.
   *
   * It counts only if the file is now as the call says: a diff may show a part of a file only.
   */
  async noteShown(path: string, old: string | null, fresh: string): Promise<void> {
    const tracked = this.#tracked.get(path);
    const now = await this.#files.text(path);
    if (tracked !== undefined) tracked.left = fingerprintOf(now);
    else if (now === fresh || (now === null && fresh === "")) {
      this.#tracked.set(path, { before: old, left: fingerprintOf(now) });
    }
  }

  /** Return what differs now, by path; files that are as they were are forgotten. */
  async list(): Promise<ChangedFile[]> {
    const changed: ChangedFile[] = [];
    for (const [path, { before }] of this.#tracked) {
      const now = await this.#files.text(path);
      if (now === before) this.#tracked.delete(path);
      else changed.push(this.#described(path, before, now));
    }
    return changed.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #described(path: string, before: string | null, now: string | null): ChangedFile {
    const hunks = hunksBetween(before ?? "", now ?? "");
    const kind = before === null ? "added" : now === null ? "deleted" : "changed";
    const sum = (count: (hunk: Hunk) => number): number =>
      hunks.reduce((total, hunk) => total + count(hunk), 0);
    const added = sum((hunk) => hunk.added.length);
    const removed = sum((hunk) => hunk.removed.length);
    return { path, label: this.#label(path), kind, added, removed, hunks };
  }

  /** Return a file's text from before; null if there was none or it is not tracked. */
  before(path: string): string | null {
    return this.#tracked.get(path)?.before ?? null;
  }

  /** Whether somebody else has changed a file since the agent did. */
  async isTouched(path: string): Promise<boolean> {
    const tracked = this.#tracked.get(path);
    return tracked !== undefined && fingerprintOf(await this.#files.text(path)) !== tracked.left;
  }

  get paths(): readonly string[] {
    return [...this.#tracked.keys()];
  }

  /** Take a file's change over, or one hunk of it; an unknown hunk changes nothing. */
  async keep(path: string, hunkId: string): Promise<void> {
    const tracked = this.#tracked.get(path);
    if (tracked === undefined) return;
    if (hunkId === "") {
      this.#tracked.delete(path);
      return;
    }
    const now = (await this.#files.text(path)) ?? "";
    const hunk = found(tracked.before ?? "", now, hunkId);
    if (hunk !== undefined) tracked.before = withHunkKept(tracked.before ?? "", hunk);
  }

  /** Take a file's change back, or one hunk of it; an unknown hunk changes nothing. */
  async revert(path: string, hunkId: string): Promise<void> {
    const tracked = this.#tracked.get(path);
    if (tracked === undefined) return;
    if (hunkId === "") {
      await this.#restore(path, tracked.before);
      this.#tracked.delete(path);
      return;
    }
    const now = (await this.#files.text(path)) ?? "";
    const hunk = found(tracked.before ?? "", now, hunkId);
    if (hunk === undefined) return;
    await this.#files.put(path, withHunkReverted(now, hunk));
    tracked.left = fingerprintOf(await this.#files.text(path));
  }

  async #restore(path: string, before: string | null): Promise<void> {
    if (before === null) await this.#files.remove(path);
    else await this.#files.put(path, before);
  }
}

function found(before: string, now: string, id: string): Hunk | undefined {
  return hunksBetween(before, now).find((hunk) => hunk.id === id);
}
