/**
 * The sessions of a window.
 *
 * Tracks which are open and which one is shown; creates, loads, forks, renames and deletes them.
 */
import {
  methods,
  type ClientContext,
  type LoadSessionResponse,
  type NewSessionResponse,
  type SessionInfo,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import type { AgentFeatures, SessionEvent, SessionSummary } from "../shared/events.js";
import { FORK_METHOD } from "./connection.js";
import { messageOf } from "./errors.js";
import type { ViewPublisher } from "./viewPublisher.js";
import type { Log, WorkspaceState } from "./ports.js";
import { Session, type SessionContext } from "./session.js";

const SHOWN_KEY = "session";
const TITLE_KEY = "title ";
/** Maximum number of `session/list` pages that are fetched. */
const MAX_PAGES = 4;
const NO_TIMESTAMP = "";

/** The connected agent. */
export interface AgentHandle {
  readonly agent: ClientContext;
  readonly features: AgentFeatures;
  /** Whether the connection is still open. */
  isOpen(): boolean;
}

export interface SessionManagerContext {
  readonly viewPublisher: ViewPublisher;
  readonly workspaceState: WorkspaceState;
  readonly log: Log;
  readonly folders: () => readonly string[];
  createSessionContext(sessionId: string, handle: AgentHandle): SessionContext;
  /** Insert what the agent does not replay into a loaded session's events: turn ends and answers to forms. */
  withSaved(sessionId: string, events: readonly SessionEvent[]): readonly SessionEvent[];
  /** Return the number of a session's unanswered questions. */
  openQuestionsOf(sessionId: string): number;
  /** Called when another session is shown. */
  onShown(): void;
  /** Called after a session was loaded completely. */
  onLoaded(sessionId: string): void;
}

export class SessionManager {
  readonly #context: SessionManagerContext;
  readonly #open = new Map<string, Session>();
  #summaries: readonly SessionSummary[] = [];
  #handle: AgentHandle | null = null;

  constructor(context: SessionManagerContext) {
    this.#context = context;
  }

  /** The shown session, if it is open at the agent. */
  get shown(): Session | undefined {
    return this.#open.get(this.#context.viewPublisher.shownSessionId);
  }

  /** Return the title of an open session; empty if it has none. */
  titleOf(sessionId: string): string {
    const title = this.#open.get(sessionId)?.title ?? "";
    return title === "" ? (this.#summaries.find(({ id }) => id === sessionId)?.title ?? "") : title;
  }

  find(sessionId: string): Session | undefined {
    return this.#open.get(sessionId);
  }

  get isRunning(): boolean {
    return [...this.#open.values()].some((session) => session.isRunning);
  }

  /** Load the last shown session from a newly connected agent, or create one. */
  async onConnected(handle: AgentHandle): Promise<void> {
    this.#handle = handle;
    const last = this.#context.viewPublisher.shownSessionId || this.#context.workspaceState.get(SHOWN_KEY);
    await this.refresh();
    if (last === undefined || last === "" || !handle.features.load) await this.create();
    else await this.#loadOrCreate(last);
  }

  /** Forget all open sessions, because the server stopped. Running turns end with the connection. */
  onDisconnected(): void {
    this.#handle = null;
    this.#open.clear();
  }

  /** Create a session and show it. */
  async create(): Promise<void> {
    const handle = this.#requireHandle();
    const answer = await handle.agent.request(methods.agent.session.new, {
      ...this.#directories(),
      mcpServers: [],
    });
    this.#openNew(answer, "", handle);
  }

  /** Show a session, loading it if it is not open. */
  async show(sessionId: string): Promise<void> {
    if (this.#open.has(sessionId)) this.#show(sessionId);
    else await this.#load(sessionId);
  }

  /** Fork a session and show the fork. */
  async fork(sessionId: string): Promise<void> {
    const handle = this.#requireHandle();
    const answer = await handle.agent.request<NewSessionResponse>(FORK_METHOD, {
      sessionId,
      ...this.#directories(),
      mcpServers: [],
    });
    // The fork request returns no history: loading the fork replays its conversation.
    await this.#load(answer.sessionId);
    await this.refresh();
  }

  rename(sessionId: string, title: string): void {
    this.#context.workspaceState.set(TITLE_KEY + sessionId, title.trim() === "" ? undefined : title.trim());
    const session = this.#open.get(sessionId);
    if (session !== undefined) this.applyTitle(sessionId, title);
    this.#summaries = this.#summaries.map((each) =>
      each.id === sessionId ? { ...each, title: title.trim() || each.title } : each,
    );
    this.publishList();
  }

  /** Apply a title from the agent, unless the user has renamed the session. */
  applyTitle(sessionId: string, title: string): void {
    const session = this.#open.get(sessionId);
    if (session === undefined) return;
    session.title = this.#context.workspaceState.get(TITLE_KEY + sessionId) ?? title;
    this.#record(sessionId, { type: "title", title: session.title });
    this.publishList();
  }

  async delete(sessionId: string): Promise<void> {
    const handle = this.#requireHandle();
    await this.#open.get(sessionId)?.stop();
    await handle.agent.request(methods.agent.session.delete, { sessionId });
    this.#open.delete(sessionId);
    this.#context.workspaceState.set(TITLE_KEY + sessionId, undefined);
    this.#context.viewPublisher.remove(sessionId);
    this.#summaries = this.#summaries.filter((each) => each.id !== sessionId);
    if (this.#context.viewPublisher.shownSessionId === sessionId) await this.create();
    this.publishList();
  }

  /**
   * Record an update. The agent may send updates before its `session/new` response, so unknown ids
   * are recorded too.
   */
  update(notification: SessionNotification): void {
    const { sessionId, update } = notification;
    this.#record(sessionId, { type: "update", update });
    if (update.sessionUpdate === "session_info_update" && typeof update.title === "string") {
      this.applyTitle(sessionId, update.title);
    }
  }

  /** Reload the list of sessions from the agent. */
  async refresh(): Promise<void> {
    const handle = this.#handle;
    if (handle?.features.list !== true) return;
    try {
      const found = await listSessions(handle.agent, this.#context.folders()[0]);
      this.#summaries = found.map((info) => this.#summarize(info));
    } catch (error) {
      this.#context.log.warn(`could not list the sessions: ${messageOf(error)}`);
    }
    this.publishList();
  }

  /** Publish the list of sessions to the view, the newest first. */
  publishList(): void {
    const known = new Map(this.#summaries.map((each) => [each.id, each]));
    for (const session of this.#open.values()) {
      const { id, cwd, isRunning } = session;
      const openQuestions = this.#context.openQuestionsOf(id);
      const entry = known.get(id) ?? { id, cwd, title: "", updatedAt: NO_TIMESTAMP, isRunning, openQuestions };
      if (session.title === "" && !known.has(id) && !isRunning) continue;
      known.set(id, { ...entry, title: session.title || entry.title, isRunning, openQuestions });
    }
    const sessions = [...known.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    this.#context.viewPublisher.publish({ type: "sessions", sessions });
  }

  async #loadOrCreate(sessionId: string): Promise<void> {
    try {
      await this.#load(sessionId);
    } catch (error) {
      this.#context.log.warn(`could not load the last session, so a new one is created: ${messageOf(error)}`);
      this.#context.viewPublisher.remove(sessionId);
      await this.create();
    }
  }

  /** Load a session: show it empty, and let the agent replay its updates. */
  async #load(sessionId: string): Promise<void> {
    const handle = this.#requireHandle();
    const summary = this.#summaries.find((each) => each.id === sessionId);
    const directories = summary === undefined ? this.#directories() : { ...this.#directories(), cwd: summary.cwd };
    const session = this.#createSession(sessionId, directories.cwd, summary?.title ?? "", handle);
    this.#context.viewPublisher.clear(sessionId);
    this.#publishSession(session, true);
    this.#show(sessionId);
    try {
      const answer = await handle.agent.request<LoadSessionResponse | null>(
        methods.agent.session.load,
        { sessionId, ...directories, mcpServers: [] },
      );
      this.#publishSession(session, false);
      this.#publishChoices(sessionId, answer ?? undefined);
      const { viewPublisher } = this.#context;
      viewPublisher.replaceEvents(sessionId, this.#context.withSaved(sessionId, [...viewPublisher.eventsOf(sessionId)]));
      this.#context.onLoaded(sessionId);
    } catch (error) {
      this.#open.delete(sessionId);
      throw error;
    }
  }

  #openNew(answer: NewSessionResponse, title: string, handle: AgentHandle): void {
    const { sessionId } = answer;
    const earlyEvents = [...this.#context.viewPublisher.eventsOf(sessionId)];
    this.#context.viewPublisher.clear(sessionId);
    const session = this.#createSession(sessionId, this.#directories().cwd, title, handle);
    this.#publishSession(session, false);
    this.#publishChoices(sessionId, answer);
    for (const event of earlyEvents) this.#record(sessionId, event);
    this.#show(sessionId);
  }

  #createSession(id: string, cwd: string, title: string, handle: AgentHandle): Session {
    const known = this.#context.workspaceState.get(TITLE_KEY + id) ?? title;
    const session = new Session(id, cwd, known, this.#context.createSessionContext(id, handle));
    this.#open.set(id, session);
    return session;
  }

  #show(sessionId: string): void {
    this.#context.workspaceState.set(SHOWN_KEY, sessionId);
    this.#context.viewPublisher.show(sessionId);
    this.#context.onShown();
    this.publishList();
  }

  #publishSession(session: Session, isLoading: boolean): void {
    const { id, cwd, title } = session;
    this.#record(id, { type: "session", id, cwd, title, isLoading });
  }

  #publishChoices(sessionId: string, answer: Omit<NewSessionResponse, "sessionId"> | undefined): void {
    const modes = answer?.modes ?? null;
    this.#record(sessionId, { type: "choices", modes, options: answer?.configOptions ?? [] });
  }

  #record(sessionId: string, event: SessionEvent): void {
    this.#context.viewPublisher.record(sessionId, event);
  }

  #directories(): { cwd: string; additionalDirectories: string[] } {
    const [cwd = "", ...additionalDirectories] = this.#context.folders();
    return { cwd, additionalDirectories };
  }

  #requireHandle(): AgentHandle {
    if (this.#handle === null) throw new Error("The server is not running.");
    return this.#handle;
  }

  #summarize(info: SessionInfo): SessionSummary {
    const { sessionId: id, cwd } = info;
    const title = this.#context.workspaceState.get(TITLE_KEY + id) ?? info.title ?? "";
    return { id, cwd, title, updatedAt: info.updatedAt ?? NO_TIMESTAMP, isRunning: false, openQuestions: 0 };
  }
}

async function listSessions(agent: ClientContext, cwd: string | undefined): Promise<SessionInfo[]> {
  const found: SessionInfo[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await agent.request(methods.agent.session.list, {
      ...(cwd !== undefined && { cwd }),
      ...(typeof cursor === "string" && { cursor }),
    });
    found.push(...answer.sessions);
    cursor = answer.nextCursor;
    if (typeof cursor !== "string") break;
  }
  return found;
}
