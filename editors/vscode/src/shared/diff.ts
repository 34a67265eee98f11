/**
 * Differences between two texts, line by line.
 *
 * Owns the algorithm (Myers, in linear rounds, with a bound) and nothing of how it is shown. Pure.
 */

/** Lines `start..end` (from 0, end excluded) of the old text became those of the new one. */
export interface LineChange {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** Beyond so many differing lines a region is shown as replaced whole. */
const MOST_EDITS = 1000;

/** Return the lines of a text, each with its own ending, so that joining gives it back. */
export function linesOf(text: string): string[] {
  return text === "" ? [] : (text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
}

/** Return what changed between two lists of lines, in order, without overlaps. */
export function lineChanges(old: readonly string[], fresh: readonly string[]): LineChange[] {
  const prefix = commonPrefix(old, fresh);
  const suffix = commonSuffix(old, fresh, prefix);
  const before = old.slice(prefix, old.length - suffix);
  const after = fresh.slice(prefix, fresh.length - suffix);
  if (before.length === 0 && after.length === 0) return [];
  const shift = (change: LineChange): LineChange => ({
    oldStart: change.oldStart + prefix,
    oldEnd: change.oldEnd + prefix,
    newStart: change.newStart + prefix,
    newEnd: change.newEnd + prefix,
  });
  return changesBetween(before, after).map(shift);
}

function commonPrefix(old: readonly string[], fresh: readonly string[]): number {
  const most = Math.min(old.length, fresh.length);
  let length = 0;
  while (length < most && old[length] === fresh[length]) length += 1;
  return length;
}

function commonSuffix(old: readonly string[], fresh: readonly string[], prefix: number): number {
  const most = Math.min(old.length, fresh.length) - prefix;
  let length = 0;
  while (length < most && old.at(-1 - length) === fresh.at(-1 - length)) length += 1;
  return length;
}

function changesBetween(old: readonly string[], fresh: readonly string[]): LineChange[] {
  const whole = { oldStart: 0, oldEnd: old.length, newStart: 0, newEnd: fresh.length };
  if (old.length === 0 || fresh.length === 0) return [whole];
  const rounds = furthestReaches(old, fresh);
  return rounds === null ? [whole] : changesAlong(rounds, old.length, fresh.length);
}

/** Return, per number of edits, how far each diagonal reaches; null if it would take too many. */
function furthestReaches(old: readonly string[], fresh: readonly string[]): Int32Array[] | null {
  const most = Math.min(old.length + fresh.length, MOST_EDITS);
  const reach = new Int32Array(2 * most + 3);
  const rounds: Int32Array[] = [];
  const middle = most + 1;
  for (let edits = 0; edits <= most; edits += 1) {
    rounds.push(reach.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const x = stepFrom(reach, middle, diagonal, edits);
      const end = slide(old, fresh, x, x - diagonal);
      reach[middle + diagonal] = end;
      if (end >= old.length && end - diagonal >= fresh.length) return rounds;
    }
  }
  return null;
}

function stepFrom(reach: Int32Array, middle: number, diagonal: number, edits: number): number {
  const below = reach[middle + diagonal - 1] ?? 0;
  const above = reach[middle + diagonal + 1] ?? 0;
  const isDown = diagonal === -edits || (diagonal !== edits && below < above);
  return isDown ? above : below + 1;
}

function slide(old: readonly string[], fresh: readonly string[], x: number, y: number): number {
  let end = x;
  while (end < old.length && end - x + y < fresh.length && old[end] === fresh[end - x + y]) {
    end += 1;
  }
  return end;
}

/** Walk the rounds backwards and return the edits, neighbours joined. */
function changesAlong(rounds: readonly Int32Array[], oldEnd: number, newEnd: number): LineChange[] {
  const changes: LineChange[] = [];
  let x = oldEnd;
  let y = newEnd;
  for (let edits = rounds.length - 1; edits > 0; edits -= 1) {
    const reach = rounds[edits] ?? new Int32Array();
    const diagonal = x - y;
    const at = (of: number): number => reach[of + edits + 1] ?? 0;
    const isDown =
      diagonal === -edits || (diagonal !== edits && at(diagonal - 1) < at(diagonal + 1));
    const from = isDown ? diagonal + 1 : diagonal - 1;
    const startX = at(from);
    const startY = startX - from;
    const endX = isDown ? startX : startX + 1;
    const endY = isDown ? startY + 1 : startY;
    joinTo(changes, { oldStart: startX, oldEnd: endX, newStart: startY, newEnd: endY });
    x = startX;
    y = startY;
  }
  return changes.reverse();
}

/** Add a change that lies before those there are; one that touches the last becomes part of it. */
function joinTo(changes: LineChange[], change: LineChange): void {
  const next = changes.at(-1);
  if (next?.oldStart === change.oldEnd && next.newStart === change.newEnd) {
    changes.pop();
    changes.push({ ...next, oldStart: change.oldStart, newStart: change.newStart });
  } else {
    changes.push(change);
  }
}
