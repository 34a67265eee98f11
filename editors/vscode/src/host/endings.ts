/**
 * How turns ended, kept between runs of the editor.
 *
 * An agent that tells a session again tells what was said, not how each turn ended. Owns where the
 * marks stand: behind so many prompts. A turn counts as cut until it has ended, so that one which
 * a reload or a crash ends is marked as well. Refuses to know how marks look.
 */
import type { SessionEvent } from "../shared/events.js";
import { isRecord } from "../shared/intents.js";
import { reduce } from "../shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../shared/state.js";
import type { Memory } from "./ports.js";

const KEY = "endings";
const MOST_SESSIONS = 30;
const MOST_MARKS = 30;
const MOST_CHARACTERS = 300;
/** The reason of a turn whose end nobody saw. */
export const CUT = "cut";

interface Mark {
  /** It stands behind so many prompts of the user's. */
  readonly prompts: number;
  readonly reason: string;
  readonly error: string;
}

export class Endings {
  readonly #memory: Memory;
  /** By session; the one that was marked last stands last. */
  readonly #marks: Map<string, readonly Mark[]>;
  readonly #prompts = new Map<string, number>();
  readonly #running = new Set<string>();

  constructor(memory: Memory) {
    this.#memory = memory;
    const kept = Object.entries(parsed(memory.get(KEY)));
    this.#marks = new Map(kept.map(([id, marks]) => [id, marksOf(marks)]));
  }

  /** Note what is shown of a session, as far as it says that a turn begins, goes on or ends. */
  note(sessionId: string, event: SessionEvent): void {
    const prompts = this.#prompts.get(sessionId) ?? 0;
    if (event.type === "prompted") {
      this.#prompts.set(sessionId, prompts + 1);
      if (this.#running.has(sessionId)) this.#mark(sessionId, prompts, prompts + 1, CUT, "");
    } else if (event.type === "running") {
      this.#running.add(sessionId);
      this.#mark(sessionId, prompts, prompts, CUT, "");
    } else if (event.type === "ended") {
      this.#running.delete(sessionId);
      this.#mark(sessionId, prompts, prompts, event.reason, event.error);
    }
  }

  /** Return what was told of a session with the marks where they were. */
  restored(sessionId: string, events: readonly SessionEvent[]): SessionEvent[] {
    const marks = new Map(this.#marks.get(sessionId)?.map((mark) => [mark.prompts, mark]));
    const told: SessionEvent[] = [];
    let view = EMPTY_VIEW;
    let prompts = 0;
    for (const event of events) {
      view = reduce(view, event);
      const now = isOfTheUser(event) ? promptsIn(view) : prompts;
      if (now > prompts) told.push(...endingOf(marks.get(prompts)));
      told.push(event);
      prompts = now;
    }
    this.#prompts.set(sessionId, prompts);
    this.#running.delete(sessionId);
    return [...told, ...endingOf(marks.get(prompts))];
  }

  forget(sessionId: string): void {
    if (this.#marks.delete(sessionId)) this.#keep();
  }

  /** Put a mark in the place of the one that stood behind `before` prompts. */
  #mark(sessionId: string, before: number, prompts: number, reason: string, error: string): void {
    const others = (this.#marks.get(sessionId) ?? []).filter((mark) => mark.prompts !== before);
    const isWell = reason === "end_turn" && error === "";
    const mark = { prompts, reason, error: error.slice(0, MOST_CHARACTERS) };
    const marks = isWell ? others : [...others, mark].slice(-MOST_MARKS);
    this.#marks.delete(sessionId);
    if (marks.length > 0) this.#marks.set(sessionId, marks);
    this.#keep();
  }

  #keep(): void {
    const ids = [...this.#marks.keys()];
    for (const id of ids.slice(0, Math.max(0, ids.length - MOST_SESSIONS))) this.#marks.delete(id);
    const text = JSON.stringify(Object.fromEntries(this.#marks));
    this.#memory.set(KEY, this.#marks.size === 0 ? undefined : text);
  }
}

function endingOf(mark: Mark | undefined): SessionEvent[] {
  return mark === undefined ? [] : [{ type: "ended", reason: mark.reason, error: mark.error }];
}

function isOfTheUser(event: SessionEvent): boolean {
  return event.type === "update" && event.update.sessionUpdate === "user_message_chunk";
}

function promptsIn(view: ViewState): number {
  return view.session.items.filter((item) => item.kind === "user").length;
}

/** Return the object that a text says; what is none is empty. */
function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isRecord(value) ? value : {};
  } catch {
    return {}; // an older or a later version of us, or somebody else's
  }
}

function marksOf(value: unknown): Mark[] {
  const isMark = (each: unknown): each is Mark =>
    isRecord(each) &&
    typeof each["prompts"] === "number" &&
    typeof each["reason"] === "string" &&
    typeof each["error"] === "string";
  return Array.isArray(value) ? value.filter(isMark) : [];
}
