/**
 * What is being completed at the cursor.
 *
 * Owns where a command or a file's name begins and how a choice is put in. Pure.
 */
import type { AvailableCommand } from "@agentclientprotocol/sdk";

export interface Completing {
  readonly kind: "command" | "file";
  readonly query: string;
  /** Where the `/` or the `@` is. */
  readonly start: number;
}

/** Return what is being completed; null if nothing is. */
export function completingAt(text: string, cursor: number): Completing | null {
  const before = text.slice(0, cursor);
  const command = /^\/([^\s]*)$/.exec(before);
  if (command !== null) return { kind: "command", query: command[1] ?? "", start: 0 };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (file === null) return null;
  const query = file[1] ?? "";
  return { kind: "file", query, start: cursor - query.length - 1 };
}

/** Return the text with a choice in place of what was begun, and where the cursor is then. */
export function completed(
  text: string,
  cursor: number,
  { start }: Completing,
  choice: string,
): { text: string; cursor: number } {
  const head = `${text.slice(0, start)}${choice} `;
  return { text: head + text.slice(cursor).trimStart(), cursor: head.length };
}

/** Return the commands whose names fit, those that begin so first. */
export function fitting(commands: readonly AvailableCommand[], query: string): AvailableCommand[] {
  const wanted = query.toLowerCase();
  const rank = ({ name }: AvailableCommand): number => {
    const place = name.toLowerCase().indexOf(wanted);
    return place < 0 ? -1 : Math.min(place, 1);
  };
  return commands.filter((each) => rank(each) >= 0).sort((a, b) => rank(a) - rank(b));
}

/** Return the files that a text still mentions, of those that were chosen: label to path. */
export function mentioned(text: string, chosen: ReadonlyMap<string, string>): string[] {
  const labels = new Set([...text.matchAll(/(?:^|\s)@(\S+)/g)].map(([, label]) => label ?? ""));
  return [...chosen].filter(([label]) => labels.has(label)).map(([, path]) => path);
}
