/**
 * Whether a draft that the view kept was sent before the view was loaded again. Pure functions.
 *
 * VS Code writes what a view keeps to its storage every few seconds only. A browser that is reloaded sooner returns an
 * older draft, also one that was sent; but the session has that prompt, and the draft says how many it had before.
 */
import type { SessionState } from "../shared/state.js";

/** Return the texts of a session's prompts, with those that wait. */
export function promptsOf({ items, queue }: SessionState): string[] {
  const sent = items.flatMap((item) => (item.kind === "user" ? [item.blocks.map((block) => (block.type === "text" ? block.text : "")).join("")] : []));
  return [...sent, ...queue.map(({ text }) => text)];
}

/** Whether one of the later prompts is the draft, or what it became. */
export function wasSent(draft: string, promptsBefore: number, session: SessionState): boolean {
  const written = draft.trim();
  return written !== "" && promptsOf(session).slice(promptsBefore).some((prompt) => prompt.startsWith(written));
}
