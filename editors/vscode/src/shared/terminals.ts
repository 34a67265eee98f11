/**
 * What a terminal of a call holds, bounded.
 *
 * Owns the bound of what is kept for the view. Pure.
 */
import type { TerminalExitStatus } from "@agentclientprotocol/sdk";
import { isRecord } from "./intents.js";
import type { TerminalState } from "./state.js";

/** As many characters of the end are shown; the host keeps what the agent asked for. */
export const MOST_SHOWN = 48 * 1024;

export const NEW_TERMINAL: TerminalState = { output: "", isCut: false, exit: null };

/** Return a text's end, cut at a line where one is near. */
export function endOf(text: string, most: number = MOST_SHOWN): string {
  if (text.length <= most) return text;
  const end = text.slice(-most);
  const newline = end.indexOf("\n");
  return newline >= 0 && newline < most / 4 ? end.slice(newline + 1) : end;
}

/** Return the terminal with more output. */
export function printed(state: TerminalState, data: string, isCut: boolean): TerminalState {
  const output = endOf(state.output + data);
  const isShorter = output.length < state.output.length + data.length;
  return { ...state, output, isCut: state.isCut || isCut || isShorter };
}

/** News of a terminal that come with a call, under the `_meta` keys that editors know. */
export type TerminalNews =
  | { readonly kind: "opened"; readonly id: string }
  | { readonly kind: "printed"; readonly id: string; readonly data: string }
  | { readonly kind: "ended"; readonly id: string; readonly exit: TerminalExitStatus };

/** Return what an update's `_meta` tells of terminals. */
export function newsIn(meta: Readonly<Record<string, unknown>> | null | undefined): TerminalNews[] {
  const news: TerminalNews[] = [];
  const info = meta?.["terminal_info"];
  const output = meta?.["terminal_output"];
  const exit = meta?.["terminal_exit"];
  if (isRecord(info) && typeof info["terminal_id"] === "string") {
    news.push({ kind: "opened", id: info["terminal_id"] });
  }
  if (isRecord(output) && typeof output["terminal_id"] === "string") {
    const data = typeof output["data"] === "string" ? output["data"] : "";
    news.push({ kind: "printed", id: output["terminal_id"], data });
  }
  if (isRecord(exit) && typeof exit["terminal_id"] === "string") {
    news.push({ kind: "ended", id: exit["terminal_id"], exit: exitOf(exit) });
  }
  return news;
}

function exitOf(exit: Readonly<Record<string, unknown>>): TerminalExitStatus {
  const { exit_code: code, signal } = exit;
  return {
    exitCode: typeof code === "number" ? code : null,
    signal: typeof signal === "string" ? signal : null,
  };
}
