/** Bounded terminal output for the view, and terminal updates in tool calls. Pure functions. */
import type { TerminalExitStatus } from "@agentclientprotocol/sdk";
import { isRecord } from "./validation.js";
import type { TerminalState } from "./state.js";

/** Number of last characters that the view shows. The agent's own limit applies to the host's copy. */
export const MAX_SHOWN = 48 * 1024;

export const NEW_TERMINAL: TerminalState = { output: "", isTruncated: false, exit: null };

/** Return the end of a text, cut at a line start if one is near. */
export function tailOf(text: string, limit: number = MAX_SHOWN): string {
  if (text.length <= limit) return text;
  const end = text.slice(-limit);
  const newline = end.indexOf("\n");
  return newline >= 0 && newline < limit / 4 ? end.slice(newline + 1) : end;
}

/** Return the terminal with output appended. */
export function withOutput(state: TerminalState, data: string, isTruncated: boolean): TerminalState {
  const output = tailOf(state.output + data);
  const isShorter = output.length < state.output.length + data.length;
  return { ...state, output, isTruncated: state.isTruncated || isTruncated || isShorter };
}

/** Terminal update in a tool call's `_meta`, under the keys that several editors support. */
export type TerminalUpdate =
  | { readonly kind: "opened"; readonly id: string }
  | { readonly kind: "printed"; readonly id: string; readonly data: string }
  | { readonly kind: "ended"; readonly id: string; readonly exit: TerminalExitStatus };

/** Return the terminal updates in a tool call's `_meta`. */
export function terminalUpdatesIn(meta: Readonly<Record<string, unknown>> | null | undefined): TerminalUpdate[] {
  const updates: TerminalUpdate[] = [];
  const info = meta?.["terminal_info"];
  const output = meta?.["terminal_output"];
  const exit = meta?.["terminal_exit"];
  if (isRecord(info) && typeof info["terminal_id"] === "string") {
    updates.push({ kind: "opened", id: info["terminal_id"] });
  }
  if (isRecord(output) && typeof output["terminal_id"] === "string") {
    const data = typeof output["data"] === "string" ? output["data"] : "";
    updates.push({ kind: "printed", id: output["terminal_id"], data });
  }
  if (isRecord(exit) && typeof exit["terminal_id"] === "string") {
    updates.push({ kind: "ended", id: exit["terminal_id"], exit: exitStatusOf(exit) });
  }
  return updates;
}

function exitStatusOf(exit: Readonly<Record<string, unknown>>): TerminalExitStatus {
  const { exit_code: code, signal } = exit;
  return {
    exitCode: typeof code === "number" ? code : null,
    signal: typeof signal === "string" ? signal : null,
  };
}
