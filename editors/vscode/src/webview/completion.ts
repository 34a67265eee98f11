/** Completion of slash commands and mentions at the cursor. Pure functions. */
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import type { Mention } from "../shared/events.js";
import { fuzzyScore } from "../shared/fuzzy.js";

export interface CompletionQuery {
  readonly kind: "command" | "mention";
  readonly query: string;
  /** Index of the `/` or `@`. */
  readonly start: number;
}

/** Return the completion query at the cursor; null if there is none. */
export function completionAt(text: string, cursor: number): CompletionQuery | null {
  const before = text.slice(0, cursor);
  const command = /^\/([^\s]*)$/.exec(before);
  if (command !== null) return { kind: "command", query: command[1] ?? "", start: 0 };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (file === null) return null;
  const query = file[1] ?? "";
  return { kind: "mention", query, start: cursor - query.length - 1 };
}

/** Return the text with the query replaced by a choice, and the new cursor position. */
export function applyCompletion(
  text: string,
  cursor: number,
  { start }: CompletionQuery,
  choice: string,
): { text: string; cursor: number } {
  const head = `${text.slice(0, start)}${choice} `;
  return { text: head + text.slice(cursor).trimStart(), cursor: head.length };
}

/** Return the commands that match the query, the best matches first. */
export function matchingCommands(commands: readonly AvailableCommand[], query: string): AvailableCommand[] {
  if (query === "") return [...commands];
  const scored = commands.map((command) => ({ command, score: fuzzyScore(command.name, query) }));
  const found = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
  return found.map(({ command }) => command);
}

const LINES = /^#L(\d+)(?:-L?(\d+))?/;

/**
 * Return the chosen mentions (by label) that the text still has.
 *
 * Lines may be added to a file by hand: `@src/app.ts#L10-20`.
 */
export function mentionsIn(text: string, chosen: ReadonlyMap<string, Mention>): Mention[] {
  const labels = [...chosen.keys()].sort((a, b) => b.length - a.length);
  const mentions: Mention[] = [];
  let rest = text;
  for (const label of labels) {
    const mention = chosen.get(label);
    if (mention === undefined) continue;
    for (let at = rest.indexOf(`@${label}`); at >= 0; at = rest.indexOf(`@${label}`)) {
      const after = rest.slice(at + label.length + 1);
      const [lines = "", first, last] = LINES.exec(after) ?? [];
      const isWhole = after === "" || lines !== "" || /^[\s.,;:!?)\]]/.test(after);
      if (isWhole) mentions.push(lines === "" ? mention : withLines(mention, Number(first), Number(last ?? first)));
      // Blank it out: a longer label must not be found again as a shorter one.
      rest = `${rest.slice(0, at)}\0${after.slice(lines.length)}`;
    }
  }
  return mentions;
}

function withLines(mention: Mention, first: number, last: number): Mention {
  return { ...mention, firstLine: Math.min(first, last), lastLine: Math.max(first, last) };
}
