/** Diff in a tool call, also while it streams: the changes with some context lines. */
import type { ToolCallContent } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { memo } from "../memo.js";
import { useMemo, useState } from "preact/hooks";
import { lineChanges, linesOf } from "../../shared/diff.js";
import { IconButton } from "../Icon.js";
import { LineCounts } from "../LineCounts.js";
import { PathText } from "../PathText.js";
import type { DiffSegment } from "../diffSegments.js";
import { useHost } from "../hostContext.js";
import { languageOf, useHighlightEngine } from "../markdown/highlight.js";
import { t } from "../../shared/l10n.js";

const CONTEXT_LINES = 3;
const MAX_LINES = 200;
/** Lines that each press of the button adds: all lines of a large diff at once would block the view. */
const STEP_LINES = 1000;

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "gap";
  readonly text: string;
  /** Line number in the new text, or in the old text for a removed line; 0 for a gap. */
  readonly number: number;
}

export type Diff = Extract<ToolCallContent, { type: "diff" }>;

const COUNTS = new WeakMap<Diff, LineCount>();

export function DiffView({ diff, callId, isGrowing }: { diff: Diff; callId: string; isGrowing: boolean }): JSX.Element {
  const [limit, setLimit] = useState(MAX_LINES);
  const { post } = useHost();
  const lines = useMemo(() => diffLines(diff.oldText ?? "", diff.newText), [diff.oldText, diff.newText]);
  // A streaming diff shows its end, where it grows; a finished one shows its beginning.
  const shown = isGrowing ? lines.slice(-MAX_LINES) : lines.slice(0, limit);
  const counts = useMemo(() => countLines(lines), [lines]);
  const hidden = lines.length - shown.length;
  return (
    <div class="diff" data-testid="diff">
      <div class="diff-head">
        <PathText path={diff.path} />
        {!isGrowing && <FileMark diff={diff} />}
        <LineCounts added={counts.added} removed={counts.removed} />
        <IconButton
          icon="diff"
          label={t("Open Diff")}
          testId="open-diff"
          onPress={() => {
            post({ type: "openDiff", callId, path: diff.path });
          }}
        />
      </div>
      <div class="diff-lines" tabIndex={0} role="group" aria-label={t("Changes in {0}", diff.path)}>
        <DiffLines lines={shown} path={isGrowing ? "" : diff.path} />
      </div>
      {hidden > 0 && !isGrowing && (
        <button
          type="button"
          class="more"
          data-testid="diff-more"
          data-hidden-lines={hidden}
          onClick={() => {
            setLimit(limit + STEP_LINES);
          }}
        >
          {t("Show {0} more of {1} lines", Math.min(hidden, STEP_LINES), lines.length)}
        </button>
      )}
    </div>
  );
}

/** Lines in blocks, so that the browser skips those out of view, and added lines re-render no earlier block. */
function DiffLines({ lines, path }: { lines: readonly DiffLine[]; path: string }): JSX.Element {
  const blocks: (readonly DiffLine[])[] = [];
  for (let at = 0; at < lines.length; at += MAX_LINES) blocks.push(lines.slice(at, at + MAX_LINES));
  return (
    <>
      {blocks.map((block, index) => (
        <DiffBlock key={index} lines={block} path={path} />
      ))}
    </>
  );
}

/** Lines of a file, with syntax colours and marked words; without a path, while they still change, as plain text. */
export const DiffBlock = memo(
  function DiffBlock({ lines, path }: { lines: readonly DiffLine[]; path: string }): JSX.Element {
    const engine = useHighlightEngine(path !== "");
    const segments = useMemo(() => (path === "" ? undefined : engine?.diffSegments(lines, languageOf(path))), [engine, lines, path]);
    return (
      <div class="diff-block">
        {lines.map((line, index) => (
          <DiffLineView key={index} line={line} segments={segments?.[index]} />
        ))}
      </div>
    );
  },
  (before, after) =>
    before.path === after.path && before.lines.length === after.lines.length && before.lines.every((line, index) => line === after.lines[index]),
);

/** Whether the file is new, or goes. */
function FileMark({ diff: { oldText, newText } }: { diff: Diff }): JSX.Element | null {
  if (typeof oldText !== "string") return <span class="small">{t("new")}</span>;
  return oldText !== "" && newText === "" ? <span class="small">{t("deleted")}</span> : null;
}

interface LineCount {
  readonly added: number;
  readonly removed: number;
}

/** Return how many lines diffs add and remove together. */
export function countOf(diffs: readonly Diff[]): LineCount {
  const counts = diffs.map((diff) => {
    const known = COUNTS.get(diff) ?? countLines(diffLines(diff.oldText ?? "", diff.newText));
    COUNTS.set(diff, known);
    return known;
  });
  return counts.reduce((sum, { added, removed }) => ({ added: sum.added + added, removed: sum.removed + removed }), { added: 0, removed: 0 });
}

function countLines(lines: readonly DiffLine[]): LineCount {
  const counts = { added: 0, removed: 0 };
  for (const { kind } of lines) if (kind === "added" || kind === "removed") counts[kind] += 1;
  return counts;
}

const SIGNS = { same: " ", added: "+", removed: "-", gap: "" } as const;

function DiffLineView({ line, segments }: { line: DiffLine; segments: readonly DiffSegment[] | undefined }): JSX.Element {
  if (line.kind === "gap") return <div class="diff-line gap">⋯</div>;
  return (
    <div class={`diff-line ${line.kind}`}>
      <span class="number" aria-hidden="true">
        {line.number}
      </span>
      <span class="sign">{SIGNS[line.kind]}</span>
      <span class="code">
        {segments?.map(({ text, className, isChanged }, index) => (
          <span key={index} class={isChanged ? `${className} changed-word` : className}>
            {text}
          </span>
        )) ?? line.text}
      </span>
    </div>
  );
}

/** Return a diff's lines: each change with context lines, and gaps in between. */
export function diffLines(oldText: string, newText: string): DiffLine[] {
  const [before, after] = [linesOf(oldText), linesOf(newText)];
  const lines: DiffLine[] = [];
  let next = 0;
  const same = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) lines.push(diffLine("same", after[at] ?? "", at + 1));
  };
  for (const change of lineChanges(before, after)) {
    const start = Math.max(change.newStart - CONTEXT_LINES, next);
    const isFirst = lines.length === 0;
    if (!isFirst) same(next, Math.min(next + CONTEXT_LINES, start));
    if (start > next + (isFirst ? 0 : CONTEXT_LINES)) lines.push({ kind: "gap", text: "", number: 0 });
    same(Math.max(start, isFirst ? 0 : Math.min(next + CONTEXT_LINES, start)), change.newStart);
    for (let at = change.oldStart; at < change.oldEnd; at += 1) {
      lines.push(diffLine("removed", before[at] ?? "", at + 1));
    }
    for (let at = change.newStart; at < change.newEnd; at += 1) {
      lines.push(diffLine("added", after[at] ?? "", at + 1));
    }
    next = change.newEnd;
  }
  const end = Math.min(next + CONTEXT_LINES, after.length);
  same(next, end);
  if (end < after.length && lines.length > 0) lines.push({ kind: "gap", text: "", number: 0 });
  return lines;
}

function diffLine(kind: DiffLine["kind"], text: string, number: number): DiffLine {
  return { kind, text: text.replace(/\r?\n$/, ""), number };
}
