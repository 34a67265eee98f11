/** Hunks of a change that the user keeps or reverts one by one. Pure functions. */
import { lineChanges, linesOf } from "./diff.js";

/** How the agent is told of an acceptance without some parts begins: the chat recognises it. */
export const PARTLY_ACCEPTED = "I accept this change only in part.";

export interface Hunk {
  /**
   * Derived from position and content, so that a click in an outdated view matches no hunk instead
   * of a wrong one.
   */
  readonly id: string;
  /** First lines in the old and new text, from 1. */
  readonly oldLine: number;
  readonly newLine: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Return the hunks between two texts, in order. */
export function hunksBetween(oldText: string, newText: string): Hunk[] {
  const [before, after] = [linesOf(oldText), linesOf(newText)];
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

/** Return the old text with a hunk applied, so that it is no longer a difference. */
export function withHunkKept(oldText: string, hunk: Hunk): string {
  return replaceLines(oldText, hunk.oldLine - 1, hunk.removed.length, hunk.added);
}

/** Return the new text with a hunk undone. */
export function withHunkReverted(newText: string, hunk: Hunk): string {
  return replaceLines(newText, hunk.newLine - 1, hunk.added.length, hunk.removed);
}

function replaceLines(text: string, start: number, count: number, lines: readonly string[]): string {
  const all = linesOf(text);
  all.splice(start, count, ...lines);
  return all.join("");
}

/** Return a short hash of lines (FNV-1a, 32 bits). */
function digest(lines: readonly string[]): string {
  let hash = 0x811c9dc5;
  for (const line of lines) {
    for (let index = 0; index < line.length; index += 1) {
      hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193) >>> 0;
    }
  }
  return hash.toString(36);
}
