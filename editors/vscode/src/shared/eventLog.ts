/**
 * Compacting log of one session's events, replayed when the view reloads.
 *
 * Drops events that a later one replaces and merges adjacent chunks. Invariant: reducing the log gives
 * the same state as reducing all appended events.
 */
import type { ContentChunk, SessionUpdate, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "./events.js";
import { tailOf, terminalUpdatesIn } from "./terminalOutput.js";

type UpdateEvent = Extract<SessionEvent, { type: "update" }>;
type TerminalEvent = Extract<SessionEvent, { type: "terminal" }>;

const CHUNK_UPDATES: ReadonlySet<string> = new Set(["agent_message_chunk", "agent_thought_chunk"]);
const SNAPSHOT_UPDATES: ReadonlySet<string> = new Set(["plan", "available_commands_update", "usage_update"]);

export class EventLog {
  readonly #events: SessionEvent[] = [];
  /** Index of the event that a later event with the same merge key extends or replaces. */
  readonly #indexes = new Map<string, number>();

  /** The logged events, in order. */
  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  clear(): void {
    this.#events.length = 0;
    this.#indexes.clear();
  }

  append(event: SessionEvent): void {
    this.#endMerging(event);
    const mergedEvent = this.#mergedWithLast(event);
    if (mergedEvent !== null) {
      this.#events[this.#events.length - 1] = mergedEvent;
      return;
    }
    const key = mergeKey(event);
    const index = key === "" ? undefined : this.#indexes.get(key);
    const earlierEvent = index === undefined ? undefined : this.#events[index];
    if (index !== undefined && earlierEvent !== undefined) {
      this.#events[index] = mergedEvents(earlierEvent, event);
      return;
    }
    if (key !== "") this.#indexes.set(key, this.#events.length);
    this.#events.push(event);
  }

  /**
   * Forget the indexes of tool calls that this event changes.
   *
   * A later update must not be merged into an event before this one: that would reorder the changes
   * and reduce to a different state.
   */
  #endMerging(event: SessionEvent): void {
    if (event.type === "permission") this.#indexes.delete(`call ${event.call.toolCallId}`);
    if (event.type === "rewound") this.#indexes.clear();
    if (event.type !== "ended") return;
    for (const key of this.#indexes.keys()) if (key.startsWith("call ")) this.#indexes.delete(key);
  }

  /** Return the last event extended by a chunk of the same message; null if the event is not one. */
  #mergedWithLast(event: SessionEvent): UpdateEvent | null {
    const last = this.#events.at(-1);
    if (event.type !== "update" || last?.type !== "update") return null;
    const [earlier, later] = [last.update, event.update];
    if (!CHUNK_UPDATES.has(later.sessionUpdate) || earlier.sessionUpdate !== later.sessionUpdate) return null;
    const chunk = mergedChunk(earlier as ContentChunk, later as ContentChunk);
    return chunk === null ? null : { type: "update", update: { ...earlier, ...chunk } as SessionUpdate };
  }
}

function mergedChunk(earlier: ContentChunk, later: ContentChunk): ContentChunk | null {
  if (earlier.content.type !== "text" || later.content.type !== "text") return null;
  if ((earlier.messageId ?? "") !== (later.messageId ?? "")) return null;
  return { ...earlier, content: { ...earlier.content, text: earlier.content.text + later.content.text } };
}

/** Return the key of events that may be merged with each other; empty if the event may not be merged. */
function mergeKey(event: SessionEvent): string {
  switch (event.type) {
    case "changes":
    case "queue":
      return event.type;
    case "terminal":
      return `terminal ${event.id}`;
    case "update":
      return updateMergeKey(event.update);
    default:
      return "";
  }
}

function updateMergeKey(update: SessionUpdate): string {
  if (SNAPSHOT_UPDATES.has(update.sessionUpdate)) return update.sessionUpdate;
  const isCallUpdate =
    update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update";
  // Terminal output under `_meta` is incremental: replacing an earlier update would lose its output.
  return isCallUpdate && terminalUpdatesIn(update._meta).length === 0 ? `call ${update.toolCallId}` : "";
}

function mergedEvents(earlier: SessionEvent, later: SessionEvent): SessionEvent {
  if (earlier.type === "terminal" && later.type === "terminal") return mergedOutput(earlier, later);
  if (earlier.type === "update" && later.type === "update" && isCallUpdate(earlier.update) && isCallUpdate(later.update)) {
    return { type: "update", update: mergedCall(earlier.update, later.update) };
  }
  return later;
}

function mergedOutput(earlier: TerminalEvent, later: TerminalEvent): TerminalEvent {
  const data = tailOf(earlier.data + later.data);
  const isTruncated = earlier.isTruncated || later.isTruncated || data.length < earlier.data.length + later.data.length;
  return { ...later, data, isTruncated };
}

type CallUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>;

function isCallUpdate(update: SessionUpdate): update is CallUpdate {
  return update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update";
}

/** Merge two updates of a tool call: later fields win; `_meta` is merged by key. */
function mergedCall(earlier: CallUpdate, later: CallUpdate): CallUpdate {
  const sent = Object.entries(later).filter(([, value]) => value !== undefined && value !== null);
  const fields: Partial<ToolCallUpdate> = Object.fromEntries(sent);
  const meta = { ...earlier._meta, ...later._meta };
  return { ...earlier, ...fields, sessionUpdate: earlier.sessionUpdate, _meta: meta } as CallUpdate;
}
