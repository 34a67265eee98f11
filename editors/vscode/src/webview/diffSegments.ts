/**
 * Syntax colours and changed words of a diff's lines. Pure functions; loaded with the languages
 * (`markdown/highlightEngine`), because they need them and a package.
 */
import { diffWordsWithSpace } from "diff";
import type { ElementContent, Root, RootContent } from "hast";
import type { DiffLine } from "./parts/DiffView.js";

/** A part of a line with one colour. */
export interface DiffSegment {
  readonly text: string;
  /** Classes of the syntax colour; may be empty. */
  readonly className: string;
  /** Whether it is a changed word of a line that is otherwise the same. */
  readonly isChanged: boolean;
}

type Highlight = (code: string, language: string) => Root | null;
type Token = Pick<DiffSegment, "text" | "className">;

/** Longer lines have no marked words: comparing them would take long. */
const MAX_LINE_CHARACTERS = 500;
const MAX_CHARACTERS = 60_000;

/** Return the segments of each line. */
export function diffSegments(lines: readonly DiffLine[], language: string, highlight: Highlight): readonly (readonly DiffSegment[])[] {
  const tokens = tokensOf(lines, language, highlight);
  const words = changedWords(lines);
  return lines.map((line, index) => withWords(tokens[index] ?? [{ text: line.text, className: "" }], words.get(line) ?? []));
}

/** Return the coloured tokens of each line: removed lines are read with the old text, all others with the new one. */
function tokensOf(lines: readonly DiffLine[], language: string, highlight: Highlight): (readonly Token[] | undefined)[] {
  const length = lines.reduce((sum, { text }) => sum + text.length + 1, 0);
  if (length > MAX_CHARACTERS) return [];
  const oldTokens = tokensOfSide(lines.filter(({ kind }) => kind !== "added"), language, highlight);
  const newTokens = tokensOfSide(lines.filter(({ kind }) => kind !== "removed"), language, highlight);
  return lines.map((line) => (line.kind === "removed" ? oldTokens : newTokens).get(line));
}

function tokensOfSide(side: readonly DiffLine[], language: string, highlight: Highlight): Map<DiffLine, readonly Token[]> {
  const root = highlight(side.map(({ text }) => text).join("\n"), language);
  if (root === null) return new Map();
  const byLine: Token[][] = [[]];
  for (const { text, className } of flatten(root.children, "")) {
    const [first = "", ...rest] = text.split("\n");
    byLine.at(-1)?.push({ text: first, className });
    for (const each of rest) byLine.push([{ text: each, className }]);
  }
  return new Map(side.map((line, index) => [line, byLine[index] ?? []]));
}

function flatten(children: readonly (RootContent | ElementContent)[], outer: string): Token[] {
  return children.flatMap((child): Token[] => {
    if (child.type === "text") return [{ text: child.value, className: outer }];
    if (child.type !== "element") return [];
    const { className } = child.properties;
    return flatten(child.children, Array.isArray(className) ? className.join(" ") : outer);
  });
}

/** Ranges of changed words, by line: first and last position, end excluded. */
type Ranges = readonly (readonly [number, number])[];

/** Return the changed words of removed lines and the added ones that replace them, one by one. */
function changedWords(lines: readonly DiffLine[]): ReadonlyMap<DiffLine, Ranges> {
  const found = new Map<DiffLine, Ranges>();
  for (let at = 0; at < lines.length; ) {
    const removed = runOf(lines, at, "removed");
    const added = runOf(lines, at + removed.length, "added");
    if (removed.length === added.length) {
      removed.forEach((line, index) => {
        const other = added[index];
        if (other !== undefined) markPair(line, other, found);
      });
    }
    at += Math.max(removed.length + added.length, 1);
  }
  return found;
}

function runOf(lines: readonly DiffLine[], start: number, kind: DiffLine["kind"]): readonly DiffLine[] {
  const end = lines.findIndex((line, index) => index >= start && line.kind !== kind);
  return lines.slice(start, end < 0 ? lines.length : end);
}

function markPair(removed: DiffLine, added: DiffLine, found: Map<DiffLine, Ranges>): void {
  if (Math.max(removed.text.length, added.text.length) > MAX_LINE_CHARACTERS) return;
  const parts = diffWordsWithSpace(removed.text, added.text);
  // In a line without a common word, marks would say nothing.
  if (!parts.some((part) => !part.added && !part.removed && part.value.trim() !== "")) return;
  for (const [line, side, otherSide] of [[removed, "removed", "added"], [added, "added", "removed"]] as const) {
    const ranges: [number, number][] = [];
    let position = 0;
    for (const part of parts) {
      if (part[otherSide]) continue;
      if (part[side]) ranges.push([position, position + part.value.length]);
      position += part.value.length;
    }
    found.set(line, ranges);
  }
}

/** Split tokens where changed words begin and end. */
function withWords(tokens: readonly Token[], changed: Ranges): DiffSegment[] {
  const segments: DiffSegment[] = [];
  let position = 0;
  for (const { text, className } of tokens) {
    const end = position + text.length;
    const cuts = changed.flat().filter((cut) => cut > position && cut < end);
    for (const [from, to] of pairs([position, ...cuts, end])) {
      const isChanged = changed.some(([start, stop]) => from >= start && to <= stop);
      if (to > from) segments.push({ text: text.slice(from - position, to - position), className, isChanged });
    }
    position = end;
  }
  return segments;
}

function pairs(cuts: readonly number[]): [number, number][] {
  return cuts.slice(1).map((cut, index) => [cuts[index] ?? 0, cut]);
}
