/**
 * Differences as a person reviews them: hunks that are kept or taken back one by one.
 *
 * Owns what a hunk is and what keeping or reverting one makes of the two texts. Pure.
 */
import { lineChanges, linesOf } from "./diff.js";

export interface Hunk {
  /** Where and what it is: a click on a view that is out of date finds nothing, not another hunk. */
  readonly id: string;
  /** Lines from 1, as an editor counts them. */
  readonly oldLine: number;
  readonly newLine: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Return the hunks between two texts, in order. */
export function hunksBetween(old: string, fresh: string): Hunk[] {
  const [before, after] = [linesOf(old), linesOf(fresh)];
  return lineChanges(before, after).map((change) => {
    const removed = before.slice(change.oldStart, change.oldEnd);
    const added = after.slice(change.newStart, change.newEnd);
    return {
      id: `${String(change.oldStart)}:${String(change.newStart)}:${digest([...removed, "\0", ...added])}`,
      oldLine: change.oldStart + 1,
      newLine: change.newStart + 1,
      removed,
      added,
    };
  });
}

/** Return the old text with a hunk taken over: it is no difference any more. */
export function withHunkKept(old: string, hunk: Hunk): string {
  return spliced(old, hunk.oldLine - 1, hunk.removed.length, hunk.added);
}

/** Return the new text with a hunk taken back. */
export function withHunkReverted(fresh: string, hunk: Hunk): string {
  return spliced(fresh, hunk.newLine - 1, hunk.added.length, hunk.removed);
}

function spliced(text: string, start: number, count: number, lines: readonly string[]): string {
  const all = linesOf(text);
  all.splice(start, count, ...lines);
  return all.join("");
}

/** Return a short name for lines: equal lines, equal names (FNV-1a, 32 bits). */
function digest(lines: readonly string[]): string {
  let hash = 0x811c9dc5;
  for (const line of lines) {
    for (let index = 0; index < line.length; index += 1) {
      hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193) >>> 0;
    }
  }
  return hash.toString(36);
}
