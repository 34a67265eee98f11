/** Completion of slash commands and file mentions at the cursor. Pure functions. */
import type { AvailableCommand } from "@agentclientprotocol/sdk";

export interface CompletionQuery {
  readonly kind: "command" | "file";
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
  return { kind: "file", query, start: cursor - query.length - 1 };
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

/** Return the commands whose names contain the query, prefix matches first. */
export function matchingCommands(commands: readonly AvailableCommand[], query: string): AvailableCommand[] {
  const lowerQuery = query.toLowerCase();
  const rank = ({ name }: AvailableCommand): number => {
    const position = name.toLowerCase().indexOf(lowerQuery);
    return position < 0 ? -1 : Math.min(position, 1);
  };
  return commands.filter((each) => rank(each) >= 0).sort((a, b) => rank(a) - rank(b));
}

/** Return the paths of the chosen files (label to path) that the text still mentions. */
export function mentionedFiles(text: string, chosenFiles: ReadonlyMap<string, string>): string[] {
  const labels = new Set([...text.matchAll(/(?:^|\s)@(\S+)/g)].map(([, label]) => label ?? ""));
  return [...chosenFiles].filter(([label]) => labels.has(label)).map(([, path]) => path);
}
