/**
 * Line-by-line differences between two texts: Myers' algorithm with a limit on the number of edits.
 *
 * Pure functions, independent of how differences are displayed.
 */

/**
 * One change: old lines `oldStart..oldEnd` were replaced by new lines `newStart..newEnd` (from 0,
 * end excluded).
 */
export interface LineChange {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** A region with more edits than this is reported as one replacement. */
const MAX_EDITS = 1000;

/** Split a text into lines with their line endings, so that joining them restores the text. */
export function linesOf(text: string): string[] {
  return text === "" ? [] : (text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
}

/** Return the changes between two lists of lines, in order and without overlaps. */
export function lineChanges(oldLines: readonly string[], newLines: readonly string[]): LineChange[] {
  const prefix = commonPrefix(oldLines, newLines);
  const suffix = commonSuffix(oldLines, newLines, prefix);
  const before = oldLines.slice(prefix, oldLines.length - suffix);
  const after = newLines.slice(prefix, newLines.length - suffix);
  if (before.length === 0 && after.length === 0) return [];
  const shift = (change: LineChange): LineChange => ({
    oldStart: change.oldStart + prefix,
    oldEnd: change.oldEnd + prefix,
    newStart: change.newStart + prefix,
    newEnd: change.newEnd + prefix,
  });
  return changesBetween(before, after).map(shift);
}

function commonPrefix(oldLines: readonly string[], newLines: readonly string[]): number {
  const limit = Math.min(oldLines.length, newLines.length);
  let length = 0;
  while (length < limit && oldLines[length] === newLines[length]) length += 1;
  return length;
}

function commonSuffix(oldLines: readonly string[], newLines: readonly string[], prefix: number): number {
  const limit = Math.min(oldLines.length, newLines.length) - prefix;
  let length = 0;
  while (length < limit && oldLines.at(-1 - length) === newLines.at(-1 - length)) length += 1;
  return length;
}

function changesBetween(oldLines: readonly string[], newLines: readonly string[]): LineChange[] {
  const wholeRegion = { oldStart: 0, oldEnd: oldLines.length, newStart: 0, newEnd: newLines.length };
  if (oldLines.length === 0 || newLines.length === 0) return [wholeRegion];
  const rounds = furthestPoints(oldLines, newLines);
  return rounds === null ? [wholeRegion] : changesAlong(rounds, oldLines.length, newLines.length);
}

/** Return the furthest point on each diagonal, per number of edits; null if there are too many edits. */
function furthestPoints(oldLines: readonly string[], newLines: readonly string[]): Int32Array[] | null {
  const limit = Math.min(oldLines.length + newLines.length, MAX_EDITS);
  const reach = new Int32Array(2 * limit + 3);
  const rounds: Int32Array[] = [];
  const middle = limit + 1;
  for (let edits = 0; edits <= limit; edits += 1) {
    rounds.push(reach.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const x = startOnDiagonal(reach, middle, diagonal, edits);
      const end = followSnake(oldLines, newLines, x, x - diagonal);
      reach[middle + diagonal] = end;
      if (end >= oldLines.length && end - diagonal >= newLines.length) return rounds;
    }
  }
  return null;
}

function startOnDiagonal(reach: Int32Array, middle: number, diagonal: number, edits: number): number {
  const below = reach[middle + diagonal - 1] ?? 0;
  const above = reach[middle + diagonal + 1] ?? 0;
  const isDown = diagonal === -edits || (diagonal !== edits && below < above);
  return isDown ? above : below + 1;
}

function followSnake(oldLines: readonly string[], newLines: readonly string[], x: number, y: number): number {
  let end = x;
  while (end < oldLines.length && end - x + y < newLines.length && oldLines[end] === newLines[end - x + y]) {
    end += 1;
  }
  return end;
}

/** Trace the rounds backwards and return the edits, with adjacent edits merged. */
function changesAlong(rounds: readonly Int32Array[], oldEnd: number, newEnd: number): LineChange[] {
  const changes: LineChange[] = [];
  let x = oldEnd;
  let y = newEnd;
  for (let edits = rounds.length - 1; edits > 0; edits -= 1) {
    const reach = rounds[edits] ?? new Int32Array();
    const diagonal = x - y;
    const reachAt = (k: number): number => reach[k + edits + 1] ?? 0;
    const isDown =
      diagonal === -edits || (diagonal !== edits && reachAt(diagonal - 1) < reachAt(diagonal + 1));
    const from = isDown ? diagonal + 1 : diagonal - 1;
    const startX = reachAt(from);
    const startY = startX - from;
    const endX = isDown ? startX : startX + 1;
    const endY = isDown ? startY + 1 : startY;
    prependChange(changes, { oldStart: startX, oldEnd: endX, newStart: startY, newEnd: endY });
    x = startX;
    y = startY;
  }
  return changes.reverse();
}

/** Add the change that precedes the last one found, merging the two if they touch. */
function prependChange(changes: LineChange[], change: LineChange): void {
  const next = changes.at(-1);
  if (next?.oldStart === change.oldEnd && next.newStart === change.newEnd) {
    changes.pop();
    changes.push({ ...next, oldStart: change.oldStart, newStart: change.newStart });
  } else {
    changes.push(change);
  }
}
