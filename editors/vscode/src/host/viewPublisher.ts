/**
 * Publishes events from the host to the views: the side bars and the editor tabs with the chat.
 *
 * Keeps what a new view must be sent: the last window event of each type, those of the agent that it shows, and
 * the event log of the session that it shows. Batches events, so that a fast agent does not cost one message per event. Does not
 * interpret events.
 */
import type { WindowEvent, HostMessage, SessionEvent, ViewEvent } from "../shared/events.js";
import { EventLog } from "../shared/eventLog.js";
import { agentIdOf, OWN_AGENT } from "./agentIds.js";

/** Events are collected for this long before they are posted. */
const BATCH_MILLISECONDS = 12;
/** Id of the view in the side bar, which always exists. */
export const SIDE_BAR = "acpServer.chat";
/** Window events that answer one view, or ask it for something. */
const VIEW_EVENT_TYPES: ReadonlySet<string> = new Set<WindowEvent["type"]>(["request", "mentions", "attach"]);

export type PostMessage = (message: HostMessage) => void;

/** One view. It exists before its page is ready, and without one while it is hidden. */
interface AttachedView {
  post: PostMessage | null;
  shownSessionId: string;
  /** Id of the agent of its session, or of the session that it waits for; undefined while that is open. */
  agentId: string | undefined;
  /** The last event of each type that only this view is sent. */
  readonly ownEvents: Map<string, WindowEvent>;
  pending: ViewEvent[];
  timer: NodeJS.Timeout | undefined;
}

export class ViewPublisher {
  readonly #windowEvents = new Map<WindowEvent["type"], WindowEvent>();
  /** Events of agents, by the agent's id and the type. */
  readonly #agentEvents = new Map<string, Map<WindowEvent["type"], WindowEvent>>();
  readonly #logs = new Map<string, EventLog>();
  readonly #views = new Map<string, AttachedView>();
  readonly #batchMilliseconds: number;
  #activeId = SIDE_BAR;
  /** Return the id of the agent of new sessions. */
  agentOfNewSessions: () => string = () => OWN_AGENT;

  constructor(batchMilliseconds: number = BATCH_MILLISECONDS) {
    this.#batchMilliseconds = batchMilliseconds;
    this.#view(SIDE_BAR);
  }

  /** Id of the view that the user last used. Actions apply to its session. */
  get activeId(): string {
    return this.#activeId;
  }

  /** Ids of all views, the side bar first. */
  get viewIds(): readonly string[] {
    return [...this.#views.keys()];
  }

  /** Id of the session that the active view shows; empty for none. */
  get shownSessionId(): string {
    return this.shownBy(this.#activeId);
  }

  /** Id of the session that a view shows; empty for none. */
  shownBy(viewId: string): string {
    return this.#views.get(viewId)?.shownSessionId ?? "";
  }

  /** Id of the agent whose session a view shows, or waits for. */
  agentOf(viewId: string): string {
    return this.#views.get(viewId)?.agentId ?? this.agentOfNewSessions();
  }

  /** Id of the agent of the active view. */
  get shownAgentId(): string {
    return this.agentOf(this.#activeId);
  }

  /** Id of a view that shows a session, the active one first; undefined if none does. */
  viewShowing(sessionId: string): string | undefined {
    return [this.#activeId, ...this.#views.keys()].find((viewId) => this.shownBy(viewId) === sessionId);
  }

  /** Make a view the active one. */
  activate(viewId: string): void {
    this.#view(viewId);
    this.#activeId = viewId;
  }

  /** Add a view that will show a session; empty for a new one. */
  open(viewId: string, sessionId: string): void {
    const view = this.#view(viewId);
    view.shownSessionId = sessionId;
    view.agentId = sessionId === "" ? undefined : agentIdOf(sessionId);
  }

  /** Let a view show nothing, until an agent has created a session for it. */
  awaitSession(viewId: string, agentId: string): void {
    const view = this.#view(viewId);
    view.shownSessionId = "";
    view.agentId = agentId;
    this.#replay(view);
  }

  /** Attach the page of a view that is ready: replay the state, then post new events. */
  attach(post: PostMessage, viewId: string = SIDE_BAR): void {
    const view = this.#view(viewId);
    view.post = post;
    this.#replay(view);
  }

  /** Detach the page of a view, which may come back. */
  detach(viewId: string = SIDE_BAR): void {
    const view = this.#view(viewId);
    view.post = null;
    discardPending(view);
  }

  /** Remove a view that was closed. */
  close(viewId: string): void {
    this.detach(viewId);
    if (viewId !== SIDE_BAR) this.#views.delete(viewId);
    if (viewId === this.#activeId) this.#activeId = SIDE_BAR;
  }

  /** Publish an event of the window. */
  publish(event: WindowEvent): void {
    // Stored even without a page, so that the next one carries out a pending request.
    if (VIEW_EVENT_TYPES.has(event.type)) {
      const view = this.#view(this.#activeId);
      view.ownEvents.set(event.type, event);
      this.#send(view, event);
      return;
    }
    this.#windowEvents.set(event.type, event);
    for (const view of this.#views.values()) this.#send(view, event);
  }

  /** Publish an event of an agent to the views of its sessions. */
  publishOf(agentId: string, event: WindowEvent): void {
    const events = this.#agentEvents.get(agentId) ?? new Map<WindowEvent["type"], WindowEvent>();
    this.#agentEvents.set(agentId, events.set(event.type, event));
    for (const [viewId, view] of this.#views) if (this.agentOf(viewId) === agentId) this.#send(view, event);
  }

  /** Send a view a script that it asked for. It is not kept: a new page asks again. */
  sendScript(name: string, text: string, viewId: string = this.#activeId): void {
    this.#view(viewId).post?.({ kind: "script", name, text });
  }

  /** Append an event to a session's log, and publish it to the views that show the session. */
  record(sessionId: string, event: SessionEvent): void {
    this.#logOf(sessionId).append(event);
    for (const view of this.#viewsOf(sessionId)) this.#send(view, event);
  }

  /** Switch a view to a session and replay its log. */
  show(sessionId: string, viewId: string = this.#activeId): void {
    const view = this.#view(viewId);
    view.shownSessionId = sessionId;
    view.agentId = agentIdOf(sessionId);
    this.#replay(view);
  }

  /** Replace a session's log, and replay it in the views that show the session. */
  replaceEvents(sessionId: string, events: readonly SessionEvent[]): void {
    const log = this.#logOf(sessionId);
    log.clear();
    for (const event of events) log.append(event);
    for (const view of this.#viewsOf(sessionId)) this.#replay(view);
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
    for (const viewId of this.#views.keys()) this.detach(viewId);
  }

  #view(viewId: string): AttachedView {
    const known = this.#views.get(viewId);
    if (known !== undefined) return known;
    const view: AttachedView = { post: null, shownSessionId: "", agentId: undefined, ownEvents: new Map(), pending: [], timer: undefined };
    this.#views.set(viewId, view);
    return view;
  }

  #viewsOf(sessionId: string): AttachedView[] {
    return [...this.#views.values()].filter((view) => view.shownSessionId === sessionId);
  }

  #logOf(sessionId: string): EventLog {
    const log = this.#logs.get(sessionId) ?? new EventLog();
    this.#logs.set(sessionId, log);
    return log;
  }

  #replay(view: AttachedView): void {
    discardPending(view);
    const ofAgent = this.#agentEvents.get(view.agentId ?? this.agentOfNewSessions())?.values() ?? [];
    const events = [...this.#windowEvents.values(), ...ofAgent, ...view.ownEvents.values(), ...this.eventsOf(view.shownSessionId)];
    view.post?.({ kind: "replay", events });
  }

  #send(view: AttachedView, event: ViewEvent): void {
    if (view.post === null) return;
    view.pending.push(event);
    view.timer ??= setTimeout(() => {
      flush(view);
    }, this.#batchMilliseconds);
  }
}

function flush(view: AttachedView): void {
  const events = view.pending;
  discardPending(view);
  if (events.length > 0) view.post?.({ kind: "events", events });
}

function discardPending(view: AttachedView): void {
  clearTimeout(view.timer);
  view.timer = undefined;
  view.pending = [];
}
