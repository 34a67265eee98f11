/**
 * The way from the host to the view.
 *
 * Owns what a view that is made anew has to be told: the last word on everything that belongs to
 * the window, and the log of the session that is shown. Gathers events, so that a fast agent costs
 * one message per moment. Refuses to know what events mean.
 */
import type { FrameEvent, HostMessage, SessionEvent, ViewEvent } from "../shared/events.js";
import { EventLog } from "../shared/eventLog.js";

/** Events are gathered for so long. */
const GATHERING_MILLISECONDS = 12;

export type Post = (message: HostMessage) => void;

export class Hub {
  readonly #frame = new Map<FrameEvent["type"], FrameEvent>();
  readonly #logs = new Map<string, EventLog>();
  readonly #gatheringMilliseconds: number;
  #post: Post | null = null;
  #shown = "";
  #pending: ViewEvent[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(gatheringMilliseconds: number = GATHERING_MILLISECONDS) {
    this.#gatheringMilliseconds = gatheringMilliseconds;
  }

  /** The session that the view shows; empty for none. */
  get shown(): string {
    return this.#shown;
  }

  /** Tell a view that is ready everything, and from then on what is new. */
  attach(post: Post): void {
    this.#post = post;
    this.#replay();
  }

  detach(): void {
    this.#post = null;
    this.#drop();
  }

  /** Tell something that belongs to the window. */
  tell(event: FrameEvent): void {
    // A request is carried out once, by the view that is there, or by the next one.
    this.#frame.set(event.type, event);
    this.#send(event);
  }

  /** Tell something of a session; it is kept with it, shown or not. */
  record(sessionId: string, event: SessionEvent): void {
    this.#log(sessionId).append(event);
    if (sessionId === this.#shown) this.#send(event);
  }

  /** Show a session, all of it. */
  show(sessionId: string): void {
    this.#shown = sessionId;
    this.#replay();
  }

  /** Tell all of a session anew, in the place of what was told before. */
  retell(sessionId: string, events: readonly SessionEvent[]): void {
    const log = this.#log(sessionId);
    log.clear();
    for (const event of events) log.append(event);
    if (sessionId === this.#shown) this.#replay();
  }

  /** Forget what was told of a session. */
  clear(sessionId: string): void {
    this.#log(sessionId).clear();
  }

  remove(sessionId: string): void {
    this.#logs.delete(sessionId);
  }

  /** What is kept of a session, in order. */
  eventsOf(sessionId: string): readonly SessionEvent[] {
    return this.#logs.get(sessionId)?.events ?? [];
  }

  dispose(): void {
    this.detach();
  }

  #log(sessionId: string): EventLog {
    const log = this.#logs.get(sessionId) ?? new EventLog();
    this.#logs.set(sessionId, log);
    return log;
  }

  #replay(): void {
    this.#drop();
    const events = [...this.#frame.values(), ...this.eventsOf(this.#shown)];
    this.#post?.({ kind: "replay", events });
  }

  #send(event: ViewEvent): void {
    if (this.#post === null) return;
    this.#pending.push(event);
    this.#timer ??= setTimeout(() => {
      this.#flush();
    }, this.#gatheringMilliseconds);
  }

  #flush(): void {
    const events = this.#pending;
    this.#drop();
    if (events.length > 0) this.#post?.({ kind: "events", events });
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = [];
  }
}
