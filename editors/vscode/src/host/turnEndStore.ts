/**
 * How turns ended, persisted across editor restarts.
 *
 * `session/load` replays the messages of a session but not how each turn ended. This store saves the
 * abnormal ends and inserts them again, each after its number of user prompts. A turn counts as
 * interrupted until it ends, so that a turn which a reload or crash cuts off is recorded too.
 */
import type { SessionEvent } from "../shared/events.js";
import { isRecord } from "../shared/validation.js";
import { reduce } from "../shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../shared/state.js";
import type { WorkspaceState } from "./ports.js";

const KEY = "endings";
const MAX_SESSIONS = 30;
const MAX_TURN_ENDS = 30;
const MAX_ERROR_CHARACTERS = 300;
/** Reason of a turn that never reported its end. The value is persisted, so it must not change. */
export const INTERRUPTED = "cut";

interface TurnEnd {
  /** Number of user prompts before this turn end. */
  readonly prompts: number;
  readonly reason: string;
  readonly error: string;
}

export class TurnEndStore {
  readonly #workspaceState: WorkspaceState;
  /** Turn ends by session id, the most recently changed session last (the first is evicted). */
  readonly #turnEnds: Map<string, readonly TurnEnd[]>;
  readonly #promptCounts = new Map<string, number>();
  readonly #running = new Set<string>();

  constructor(workspaceState: WorkspaceState) {
    this.#workspaceState = workspaceState;
    const saved = Object.entries(parseRecord(workspaceState.get(KEY)));
    this.#turnEnds = new Map(saved.map(([id, turnEnds]) => [id, parseTurnEnds(turnEnds)]));
  }

  /** Update the record from a session event that starts, extends or ends a turn. */
  observe(sessionId: string, event: SessionEvent): void {
    const prompts = this.#promptCounts.get(sessionId) ?? 0;
    if (event.type === "prompted") {
      this.#promptCounts.set(sessionId, prompts + 1);
      if (this.#running.has(sessionId)) this.#record(sessionId, prompts, prompts + 1, INTERRUPTED, "");
    } else if (event.type === "running") {
      this.#running.add(sessionId);
      this.#record(sessionId, prompts, prompts, INTERRUPTED, "");
    } else if (event.type === "ended") {
      this.#running.delete(sessionId);
      this.#record(sessionId, prompts, prompts, event.reason, event.error);
    }
  }

  /** Return the replayed events of a session with the saved turn ends inserted. */
  withTurnEnds(sessionId: string, events: readonly SessionEvent[]): SessionEvent[] {
    const turnEnds = new Map(this.#turnEnds.get(sessionId)?.map((turnEnd) => [turnEnd.prompts, turnEnd]));
    const result: SessionEvent[] = [];
    let view = EMPTY_VIEW;
    let prompts = 0;
    for (const event of events) {
      view = reduce(view, event);
      const now = isUserMessage(event) ? countPrompts(view) : prompts;
      if (now > prompts) result.push(...turnEndEvents(turnEnds.get(prompts)));
      result.push(event);
      prompts = now;
    }
    this.#promptCounts.set(sessionId, prompts);
    this.#running.delete(sessionId);
    return [...result, ...turnEndEvents(turnEnds.get(prompts))];
  }

  forget(sessionId: string): void {
    if (this.#turnEnds.delete(sessionId)) this.#save();
  }

  /** Replace the turn end recorded after `before` prompts. */
  #record(sessionId: string, before: number, prompts: number, reason: string, error: string): void {
    const others = (this.#turnEnds.get(sessionId) ?? []).filter((turnEnd) => turnEnd.prompts !== before);
    const isNormalEnd = reason === "end_turn" && error === "";
    const turnEnd = { prompts, reason, error: error.slice(0, MAX_ERROR_CHARACTERS) };
    const turnEnds = isNormalEnd ? others : [...others, turnEnd].slice(-MAX_TURN_ENDS);
    this.#turnEnds.delete(sessionId);
    if (turnEnds.length > 0) this.#turnEnds.set(sessionId, turnEnds);
    this.#save();
  }

  #save(): void {
    const ids = [...this.#turnEnds.keys()];
    for (const id of ids.slice(0, Math.max(0, ids.length - MAX_SESSIONS))) this.#turnEnds.delete(id);
    const text = JSON.stringify(Object.fromEntries(this.#turnEnds));
    this.#workspaceState.set(KEY, this.#turnEnds.size === 0 ? undefined : text);
  }
}

function turnEndEvents(turnEnd: TurnEnd | undefined): SessionEvent[] {
  return turnEnd === undefined ? [] : [{ type: "ended", reason: turnEnd.reason, error: turnEnd.error }];
}

function isUserMessage(event: SessionEvent): boolean {
  return event.type === "update" && event.update.sessionUpdate === "user_message_chunk";
}

function countPrompts(view: ViewState): number {
  return view.session.items.filter((item) => item.kind === "user").length;
}

/** Parse a JSON object; return an empty object for anything else. */
function parseRecord(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isRecord(value) ? value : {};
  } catch {
    return {}; // written by another version, or corrupt
  }
}

function parseTurnEnds(value: unknown): TurnEnd[] {
  const isTurnEnd = (each: unknown): each is TurnEnd =>
    isRecord(each) &&
    typeof each["prompts"] === "number" &&
    typeof each["reason"] === "string" &&
    typeof each["error"] === "string";
  return Array.isArray(value) ? value.filter(isTurnEnd) : [];
}
