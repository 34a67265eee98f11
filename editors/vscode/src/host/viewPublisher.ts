/**
 * Publishes events from the host to the webview.
 *
 * Keeps what a new view must be sent: the last window event of each type and the event log of the
 * shown session. Batches events, so that a fast agent does not cost one message per event. Does not
 * interpret events.
 */
import type { WindowEvent, HostMessage, SessionEvent, ViewEvent } from "../shared/events.js";
import { EventLog } from "../shared/eventLog.js";

/** Events are collected for this long before they are posted. */
const BATCH_MILLISECONDS = 12;

export type PostMessage = (message: HostMessage) => void;

export class ViewPublisher {
  readonly #windowEvents = new Map<WindowEvent["type"], WindowEvent>();
  readonly #logs = new Map<string, EventLog>();
  readonly #batchMilliseconds: number;
  #post: PostMessage | null = null;
  #shownSessionId = "";
  #pending: ViewEvent[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(batchMilliseconds: number = BATCH_MILLISECONDS) {
    this.#batchMilliseconds = batchMilliseconds;
  }

  /** Id of the session that the view shows; empty for none. */
  get shownSessionId(): string {
    return this.#shownSessionId;
  }

  /** Attach a view that is ready: replay the state, then post new events. */
  attach(post: PostMessage): void {
    this.#post = post;
    this.#replay();
  }

  detach(): void {
    this.#post = null;
    this.#discardPending();
  }

  /** Publish an event of the window. */
  publish(event: WindowEvent): void {
    // Stored even without a view, so that the next view carries out a pending request.
    this.#windowEvents.set(event.type, event);
    this.#send(event);
  }

  /** Send a script that the view asked for. It is not kept: a new view asks again. */
  sendScript(name: string, text: string): void {
    this.#post?.({ kind: "script", name, text });
  }

  /** Append an event to a session's log, and publish it if the session is shown. */
  record(sessionId: string, event: SessionEvent): void {
    this.#logOf(sessionId).append(event);
    if (sessionId === this.#shownSessionId) this.#send(event);
  }

  /** Switch the view to a session and replay its log. */
  show(sessionId: string): void {
    this.#shownSessionId = sessionId;
    this.#replay();
  }

  /** Replace a session's log, and replay it if the session is shown. */
  replaceEvents(sessionId: string, events: readonly SessionEvent[]): void {
    const log = this.#logOf(sessionId);
    log.clear();
    for (const event of events) log.append(event);
    if (sessionId === this.#shownSessionId) this.#replay();
  }

  /** Empty a session's log. */
  clear(sessionId: string): void {
    this.#logOf(sessionId).clear();
  }

  remove(sessionId: string): void {
    this.#logs.delete(sessionId);
  }

  /** Return a session's logged events, in order. */
  eventsOf(sessionId: string): readonly SessionEvent[] {
    return this.#logs.get(sessionId)?.events ?? [];
  }

  dispose(): void {
    this.detach();
  }

  #logOf(sessionId: string): EventLog {
    const log = this.#logs.get(sessionId) ?? new EventLog();
    this.#logs.set(sessionId, log);
    return log;
  }

  #replay(): void {
    this.#discardPending();
    const events = [...this.#windowEvents.values(), ...this.eventsOf(this.#shownSessionId)];
    this.#post?.({ kind: "replay", events });
  }

  #send(event: ViewEvent): void {
    if (this.#post === null) return;
    this.#pending.push(event);
    this.#timer ??= setTimeout(() => {
      this.#flush();
    }, this.#batchMilliseconds);
  }

  #flush(): void {
    const events = this.#pending;
    this.#discardPending();
    if (events.length > 0) this.#post?.({ kind: "events", events });
  }

  #discardPending(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = [];
  }
}
