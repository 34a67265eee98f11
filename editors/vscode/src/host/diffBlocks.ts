/** Applies the diffs of tool calls, which cover a whole file or only parts of it. Pure functions. */
import type { ToolCallContent } from "@agentclientprotocol/sdk";

export type DiffBlock = Extract<ToolCallContent, { type: "diff" }>;

/** Return the diffs of a tool call's content, by path. */
export function diffsByPath(content: readonly ToolCallContent[] | null | undefined): ReadonlyMap<string, readonly DiffBlock[]> {
  const found = new Map<string, DiffBlock[]>();
  for (const part of content ?? []) {
    if (part.type === "diff") found.set(part.path, [...(found.get(part.path) ?? []), part]);
  }
  return found;
}

/** Return a file's text with diffs applied; null if it is not certain where one belongs. */
export function withDiffs(text: string | null, diffs: readonly DiffBlock[]): string | null {
  return diffs.reduce<string | null>((now, { oldText, newText }) => replaced(now, oldText ?? null, newText), text ?? "");
}

/** Return the text from before diffs were applied; null if it is not certain, or the file is new. */
export function withoutDiffs(text: string | null, diffs: readonly DiffBlock[]): string | null {
  return [...diffs].reverse().reduce<string | null>((now, { oldText, newText }) => replaced(now, newText, oldText ?? ""), text ?? "");
}

function replaced(text: string | null, from: string | null, to: string): string | null {
  if (text === null) return null;
  if (from === null || hasSameLines(text, from)) return withNewlinesOf(text, to);
  const searched = withNewlinesOf(text, from);
  const start = text.indexOf(searched);
  if (searched === "" || start < 0 || text.includes(searched, start + 1)) return null;
  return text.slice(0, start) + withNewlinesOf(text, to) + text.slice(start + searched.length);
}

/** Whether two texts are equal, line endings aside. */
export function hasSameLines(one: string, other: string): boolean {
  return one === other || one.replaceAll("\r\n", "\n") === other.replaceAll("\r\n", "\n");
}

/** Return a text with the line endings of a model; unchanged if the model has no line ending. */
export function withNewlinesOf(model: string, text: string): string {
  if (!model.includes("\n")) return text;
  return text.replaceAll(/\r?\n/g, model.includes("\r\n") ? "\r\n" : "\n");
}
