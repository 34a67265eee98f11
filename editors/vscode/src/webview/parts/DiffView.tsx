/** Diff in a tool call, also while it streams: the changes with some context lines. */
import type { ToolCallContent } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { memo } from "../memo.js";
import { useMemo, useState } from "preact/hooks";
import { lineChanges, linesOf, type LineChange } from "../../shared/diff.js";
import type { RejectedPart } from "../../shared/events.js";
import type { ToolCallState } from "../../shared/state.js";
import { isRecord } from "../../shared/validation.js";
import { IconButton } from "../Icon.js";
import { LineCounts } from "../LineCounts.js";
import { PathText } from "../PathText.js";
import type { DiffSegment } from "../diffSegments.js";
import { useHost } from "../hostContext.js";
import { formatPath } from "../format.js";
import { languageOf, useHighlightEngine } from "../markdown/highlight.js";
import { t } from "../../shared/l10n.js";

const CONTEXT_LINES = 3;
const MAX_LINES = 200;
/** Lines that each press of the button adds: all lines of a large diff at once would block the view. */
const STEP_LINES = 1000;
/** By how many characters the rest of a wrapped line is indented at most, as its beginning is. */
const MAX_INDENT = 12;

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "gap";
  /** Empty for a gap without a remark. */
  readonly text: string;
  /** Line number in the text that is written; 0 for a removed or rejected line, which has none there, and for a gap. */
  readonly number: number;
  /** Whether the user rejected it, so that it is not added. */
  readonly isRejected?: boolean;
}

export type Diff = Extract<ToolCallContent, { type: "diff" }>;

const KEYS = ["oldStart", "oldEnd", "newStart", "newEnd"] as const;
const COUNTS = new WeakMap<Diff, LineCount>();

interface DiffViewProps {
  readonly diff: Diff;
  readonly call: ToolCallState;
  readonly isGrowing: boolean;
  /** Whether what is above it names its file, and has its `DiffFacts`. */
  readonly isNamed?: boolean;
}

export function DiffView({ diff, call, isGrowing, isNamed = false }: DiffViewProps): JSX.Element {
  const [limit, setLimit] = useState(MAX_LINES);
  const { parts } = call;
  const lines = useMemo(() => {
    const index = call.content.filter(({ type }) => type === "diff").indexOf(diff);
    return diffLines(diff.oldText ?? "", diff.newText, parts.rejected.filter((part) => part.diff === index));
  }, [diff.oldText, diff.newText, parts]);
  // A streaming diff shows its end, where it grows; a finished one shows its beginning.
  const shown = isGrowing ? lines.slice(-MAX_LINES) : lines.slice(0, limit);
  const hidden = lines.length - shown.length;
  return (
    <div class="diff" data-testid="diff">
      {!isNamed && (
        <div class="diff-head">
          <PathText path={diff.path} />
          <DiffFacts diff={diff} call={call} isGrowing={isGrowing} counts={countLines(lines)} />
        </div>
      )}
      {/* An empty file has none. */}
      {lines.length > 0 && (
        <div class="diff-lines" tabIndex={0} role="group" aria-label={t("Changes in {0}", diff.path)}>
          <DiffLines lines={shown} path={isGrowing ? "" : diff.path} />
        </div>
      )}
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

/** The only diff of a call if a text names its file with a word of its own, so that it need not be named again. */
export function namedDiff({ content }: ToolCallState, text: string, folder: string): Diff | undefined {
  const [diff, ...others] = content.filter((part) => part.type === "diff");
  const words = text.split(/[\s`"']+|[?:]$/);
  return diff !== undefined && others.length === 0 && words.includes(formatPath(diff.path, folder)) ? diff : undefined;
}

type DiffFactsProps = Pick<DiffViewProps, "diff" | "call" | "isGrowing"> & { readonly counts: LineCount };

/** Whether a file is new, how many lines change, and a button that opens its diff. */
export function DiffFacts({ diff, call, isGrowing, counts }: DiffFactsProps): JSX.Element {
  const { post } = useHost();
  return (
    <>
      {!isGrowing && <FileMark diff={diff} isDeletion={call.kind === "delete" || isDeletion(diff)} />}
      <LineCounts {...counts} />
      <IconButton
        icon="diff"
        label={t("Open Diff")}
        testId="open-diff"
        onPress={() => {
          post({ type: "openDiff", callId: call.id, path: diff.path });
        }}
      />
    </>
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

/** Whether the file is new, or goes: an edit may also leave it empty. */
function FileMark({ diff, isDeletion }: { diff: Diff; isDeletion: boolean }): JSX.Element | null {
  if (typeof diff.oldText !== "string") return <span class="small">{t("new")}</span>;
  return isDeletion ? <span class="small">{t("deleted")}</span> : null;
}

/** Whether our own server says that the file goes. */
function isDeletion({ _meta }: Diff): boolean {
  const hermes = _meta?.["hermes"];
  return isRecord(hermes) && hermes["deletion"] === true;
}

interface LineCount {
  readonly added: number;
  readonly removed: number;
}

/** Return how many lines diffs add and remove together, without rejected parts. */
export function countOf(diffs: readonly Diff[], rejected: readonly RejectedPart[]): LineCount {
  const counts = diffs.map((diff) => {
    const known = COUNTS.get(diff) ?? countLines(diffLines(diff.oldText ?? "", diff.newText));
    COUNTS.set(diff, known);
    return known;
  });
  const left = rejected.map(({ oldStart, oldEnd, newStart, newEnd }) => ({ added: newStart - newEnd, removed: oldStart - oldEnd }));
  return [...counts, ...left].reduce((sum, { added, removed }) => ({ added: sum.added + added, removed: sum.removed + removed }), { added: 0, removed: 0 });
}

function countLines(lines: readonly DiffLine[]): LineCount {
  const counts = { added: 0, removed: 0 };
  for (const { kind, isRejected } of lines) if (isRejected !== true && (kind === "added" || kind === "removed")) counts[kind] += 1;
  return counts;
}

const SIGNS = { same: " ", added: "+", removed: "-", gap: "" } as const;

function DiffLineView({ line, segments }: { line: DiffLine; segments: readonly DiffSegment[] | undefined }): JSX.Element {
  if (line.kind === "gap") return <div class={line.text === "" ? "diff-line gap" : "diff-line remark"}>{line.text || "⋯"}</div>;
  const isRejected = line.isRejected === true;
  const indent = Math.min(line.text.search(/\S|$/), MAX_INDENT);
  return (
    <div class={`diff-line ${isRejected ? "rejected" : line.kind}`}>
      <span class="number" aria-hidden="true">
        {line.number || ""}
      </span>
      <span class="sign">{SIGNS[line.kind]}</span>
      <span class="code" {...(indent > 0 && { style: `--indent:${String(indent)}ch` })}>
        {(isRejected ? undefined : segments)?.map(({ text, className, isChanged }, index) => (
          <span key={index} class={isChanged ? `${className} changed-word` : className}>
            {text}
          </span>
        )) ?? line.text}
      </span>
    </div>
  );
}

/** Return a diff's lines: each change with context lines, and gaps in between. A rejected change says so, and what it would have replaced stays. */
export function diffLines(oldText: string, newText: string, rejected: readonly LineChange[] = []): DiffLine[] {
  const [before, after] = [linesOf(oldText), linesOf(newText)];
  const lines: DiffLine[] = [];
  let next = 0;
  // How many more lines there would be with the rejected changes.
  let missing = 0;
  const same = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) lines.push(diffLine("same", after[at] ?? "", at + 1 - missing));
  };
  for (const change of lineChanges(before, after)) {
    const start = Math.max(change.newStart - CONTEXT_LINES, next);
    const isFirst = lines.length === 0;
    if (!isFirst) same(next, Math.min(next + CONTEXT_LINES, start));
    if (start > next + (isFirst ? 0 : CONTEXT_LINES)) lines.push({ kind: "gap", text: "", number: 0 });
    same(Math.max(start, isFirst ? 0 : Math.min(next + CONTEXT_LINES, start)), change.newStart);
    const isRejected = rejected.some((each) => KEYS.every((key) => each[key] === change[key]));
    const number = change.newStart + 1 - missing;
    const old = before.slice(change.oldStart, change.oldEnd);
    const added = after.slice(change.newStart, change.newEnd);
    if (isRejected) {
      lines.push({ kind: "gap", text: t("You rejected this part"), number: 0 });
      missing += added.length - old.length;
    }
    old.forEach((text, at) => lines.push(isRejected ? diffLine("same", text, number + at) : diffLine("removed", text, 0)));
    added.forEach((text, at) => lines.push(diffLine("added", text, isRejected ? 0 : number + at, isRejected)));
    next = change.newEnd;
  }
  const end = Math.min(next + CONTEXT_LINES, after.length);
  same(next, end);
  if (end < after.length && lines.length > 0) lines.push({ kind: "gap", text: "", number: 0 });
  return lines;
}

function diffLine(kind: DiffLine["kind"], text: string, number: number, isRejected = false): DiffLine {
  return { kind, text: text.replace(/\r?\n$/, ""), number, isRejected };
}
