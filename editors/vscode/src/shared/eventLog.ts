/**
 * The events of one session, kept so that a view can be made anew.
 *
 * Owns what may be left out: what a later event replaces, and that neighbouring chunks are one. The
 * fold of what is kept is the fold of what came. Pure but for its own list.
 */
import type { ContentChunk, SessionUpdate, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "./events.js";
import { endOf, newsIn } from "./terminals.js";

type UpdateEvent = Extract<SessionEvent, { type: "update" }>;
type TerminalEvent = Extract<SessionEvent, { type: "terminal" }>;

const CHUNKS: ReadonlySet<string> = new Set(["agent_message_chunk", "agent_thought_chunk"]);
const SNAPSHOTS: ReadonlySet<string> = new Set(["plan", "available_commands_update", "usage_update"]);

export class EventLog {
  readonly #events: SessionEvent[] = [];
  /** Where the event is that a later one is joined to, or replaces. */
  readonly #places = new Map<string, number>();

  /** All that is kept, in order. */
  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  clear(): void {
    this.#events.length = 0;
    this.#places.clear();
  }

  append(event: SessionEvent): void {
    this.#separate(event);
    const joined = this.#joinedToLast(event);
    if (joined !== null) {
      this.#events[this.#events.length - 1] = joined;
      return;
    }
    const key = placeKey(event);
    const place = key === "" ? undefined : this.#places.get(key);
    const earlier = place === undefined ? undefined : this.#events[place];
    if (place !== undefined && earlier !== undefined) {
      this.#events[place] = merged(earlier, event);
      return;
    }
    if (key !== "") this.#places.set(key, this.#events.length);
    this.#events.push(event);
  }

  /**
   * Forget places behind which this event changes the same calls.
   *
   * What comes later must not be moved in front of it: the fold would be another one.
   */
  #separate(event: SessionEvent): void {
    if (event.type === "permission") this.#places.delete(`call ${event.call.toolCallId}`);
    if (event.type !== "ended") return;
    for (const key of this.#places.keys()) if (key.startsWith("call ")) this.#places.delete(key);
  }

  /** Return the last event with a chunk of the same message added; null if it is none of that. */
  #joinedToLast(event: SessionEvent): UpdateEvent | null {
    const last = this.#events.at(-1);
    if (event.type !== "update" || last?.type !== "update") return null;
    const [old, fresh] = [last.update, event.update];
    if (!CHUNKS.has(fresh.sessionUpdate) || old.sessionUpdate !== fresh.sessionUpdate) return null;
    const chunk = joinedChunk(old as ContentChunk, fresh as ContentChunk);
    return chunk === null ? null : { type: "update", update: { ...old, ...chunk } as SessionUpdate };
  }
}

function joinedChunk(old: ContentChunk, fresh: ContentChunk): ContentChunk | null {
  if (old.content.type !== "text" || fresh.content.type !== "text") return null;
  if ((old.messageId ?? "") !== (fresh.messageId ?? "")) return null;
  return { ...old, content: { ...old.content, text: old.content.text + fresh.content.text } };
}

/** Return what says that two events are about the same thing; empty if nothing may be joined. */
function placeKey(event: SessionEvent): string {
  switch (event.type) {
    case "changes":
    case "queue":
      return event.type;
    case "terminal":
      return `terminal ${event.id}`;
    case "update":
      return updateKey(event.update);
    default:
      return "";
  }
}

function updateKey(update: SessionUpdate): string {
  if (SNAPSHOTS.has(update.sessionUpdate)) return update.sessionUpdate;
  const isCall =
    update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update";
  // What a terminal prints under `_meta` adds to what was there, so nothing of it may be replaced.
  return isCall && newsIn(update._meta).length === 0 ? `call ${update.toolCallId}` : "";
}

function merged(old: SessionEvent, fresh: SessionEvent): SessionEvent {
  if (old.type === "terminal" && fresh.type === "terminal") return joinedOutput(old, fresh);
  if (old.type === "update" && fresh.type === "update" && isCall(old.update) && isCall(fresh.update)) {
    return { type: "update", update: mergedCall(old.update, fresh.update) };
  }
  return fresh;
}

function joinedOutput(old: TerminalEvent, fresh: TerminalEvent): TerminalEvent {
  const data = endOf(old.data + fresh.data);
  const isCut = old.isCut || fresh.isCut || data.length < old.data.length + fresh.data.length;
  return { ...fresh, data, isCut };
}

type CallUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>;

function isCall(update: SessionUpdate): update is CallUpdate {
  return update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update";
}

/** Return both as one: fields that were sent later hold, `_meta` key by key. */
function mergedCall(old: CallUpdate, fresh: CallUpdate): CallUpdate {
  const sent = Object.entries(fresh).filter(([, value]) => value !== undefined && value !== null);
  const fields: Partial<ToolCallUpdate> = Object.fromEntries(sent);
  const meta = { ...old._meta, ...fresh._meta };
  return { ...old, ...fields, sessionUpdate: old.sessionUpdate, _meta: meta } as CallUpdate;
}
