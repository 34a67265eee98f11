/**
 * The sessions of a window.
 *
 * Tracks which are open and which one is shown; creates, loads, forks, renames and deletes them. Each session
 * belongs to the agent that its id names, and is open only while that agent is connected.
 */
import {
  methods,
  type LoadSessionResponse,
  type McpServer,
  type NewSessionResponse,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import type { SessionEvent, SessionSummary } from "../shared/events.js";
import { agentIdOf } from "./agentIds.js";
import { FORK_METHOD } from "./methodNames.js";
import { messageOf } from "./errors.js";
import { SIDE_BAR, type ViewPublisher } from "./viewPublisher.js";
import { Session, type SessionContext } from "./session.js";
import { firstPromptIn } from "./sessionDescription.js";
import { NO_TIMESTAMP, SessionLists, TITLE_KEY, type AgentHandle, type ListedSession, type SessionListsContext } from "./sessionLists.js";
import { t } from "../shared/l10n.js";

export const SHOWN_KEY = "session";
export interface SessionManagerContext extends SessionListsContext {
  readonly viewPublisher: ViewPublisher;
  /** The MCP servers that sessions get. */
  readonly mcpServers: () => Promise<McpServer[]>;
  agentName(agentId: string): string;
  /** Start an agent unless it was started before. */
  startAgent(agentId: string): void;
  createSessionContext(sessionId: string, handle: AgentHandle): SessionContext;
  /** Insert what the agent does not replay into a loaded session's events: turn ends, answers to forms and rejections. */
  withSaved(sessionId: string, events: readonly SessionEvent[]): readonly SessionEvent[];
  /** Whether a session is never listed. */
  isHidden(sessionId: string): boolean;
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
  readonly #lists: SessionLists;
  readonly #handles = new Map<string, AgentHandle>();
  /** Ids of the agents that have connected, while their sessions are loaded. */
  readonly #connecting = new Set<string>();

  constructor(context: SessionManagerContext) {
    this.#context = context;
    this.#lists = new SessionLists(context);
  }

  /** The shown session, if it is open at the agent. */
  get shown(): Session | undefined {
    return this.#open.get(this.#context.viewPublisher.shownSessionId);
  }

  /** Return the title of an open session; empty if it has none. */
  titleOf(sessionId: string): string {
    const title = this.#open.get(sessionId)?.title ?? "";
    return title === "" ? (this.#lists.find(sessionId)?.title ?? "") : title;
  }

  find(sessionId: string): Session | undefined {
    return this.#open.get(sessionId);
  }

  get isRunning(): boolean {
    return [...this.#open.values()].some((session) => session.isRunning);
  }

  /** Load the sessions that the views of a newly connected agent showed last, or create them. */
  async onConnected(agentId: string, handle: AgentHandle): Promise<void> {
    const { viewPublisher } = this.#context;
    this.#handles.set(agentId, handle);
    this.#connecting.add(agentId);
    await this.refresh(agentId);
    try {
      const isWaiting = (viewId: string): boolean =>
        viewPublisher.agentOf(viewId) === agentId && !this.#open.has(viewPublisher.shownBy(viewId));
      // A loop: views may be opened meanwhile.
      for (let next = viewPublisher.viewIds.find(isWaiting); next !== undefined; next = viewPublisher.viewIds.find(isWaiting)) {
        await this.#loadOrCreate(next);
      }
    } finally {
      this.#connecting.delete(agentId);
    }
  }

  /** Show a session in a view whose page is ready, unless it shows one. While its agent connects, that follows. */
  async fill(viewId: string): Promise<void> {
    const { viewPublisher } = this.#context;
    const agentId = viewPublisher.agentOf(viewId);
    this.#context.startAgent(agentId);
    const isFilled = this.#open.has(viewPublisher.shownBy(viewId));
    if (this.#isUsable(agentId) && !isFilled) await this.#loadOrCreate(viewId);
  }

  /** Forget the open sessions of an agent that stopped. Running turns end with the connection. */
  onDisconnected(agentId: string): void {
    this.#handles.delete(agentId);
    for (const id of [...this.#open.keys()]) if (agentIdOf(id) === agentId) this.#open.delete(id);
  }

  /** Show a new session of an agent, by default that of new sessions. */
  async createOf(agentId: string, cwd?: string, viewId: string = this.#context.viewPublisher.activeId): Promise<void> {
    if (this.#isUsable(agentId)) {
      await this.create(agentId, cwd, viewId);
      return;
    }
    this.#context.viewPublisher.awaitSession(viewId, agentId);
    this.#context.startAgent(agentId);
  }

  /** Create a session of a connected agent in a workspace folder, by default the first, and show it. */
  async create(agentId: string, cwd: string | undefined, viewId: string): Promise<void> {
    const handle = this.#requireHandle(agentId);
    const directories = this.#directories(cwd);
    const answer = await handle.agent.request(methods.agent.session.new, { ...directories, mcpServers: await this.#context.mcpServers() });
    this.#openNew(answer, directories.cwd, handle, viewId);
  }

  /** Show a session, loading it if it is not open. If its agent does not run, it is started first. */
  async show(sessionId: string, viewId: string = this.#context.viewPublisher.activeId): Promise<void> {
    const agentId = agentIdOf(sessionId);
    if (this.#open.has(sessionId) || !this.#isUsable(agentId)) this.#show(sessionId, viewId);
    else await this.#load(sessionId, viewId);
    this.#context.startAgent(agentId);
  }

  /** Fork a session and show the fork. */
  async fork(sessionId: string): Promise<void> {
    const agentId = agentIdOf(sessionId);
    const handle = this.#requireHandle(agentId);
    const viewId = this.#context.viewPublisher.activeId;
    const { cwd } = this.#lists.find(sessionId) ?? {};
    const directories = this.#directories(cwd);
    const answer = await handle.agent.request<NewSessionResponse>(FORK_METHOD, { sessionId, ...directories, mcpServers: await this.#context.mcpServers() });
    // The fork request returns no history: loading the fork replays its conversation.
    await this.#load(answer.sessionId, viewId, directories.cwd);
    await this.refresh(agentId);
  }

  /** Hide a session in the list, or show it again. */
  archive(sessionId: string, isArchived: boolean): void {
    this.#lists.archive(sessionId, isArchived);
    this.publishList();
  }

  rename(sessionId: string, title: string): void {
    this.#context.workspaceState.set(TITLE_KEY + sessionId, title.trim() === "" ? undefined : title.trim());
    const session = this.#open.get(sessionId);
    if (session !== undefined) this.applyTitle(sessionId, title);
    if (title.trim() !== "") this.#lists.rename(sessionId, title.trim());
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
    const agentId = agentIdOf(sessionId);
    const handle = this.#requireHandle(agentId);
    await this.#open.get(sessionId)?.stop();
    await handle.agent.request(methods.agent.session.delete, { sessionId });
    this.#open.delete(sessionId);
    const { workspaceState, viewPublisher } = this.#context;
    workspaceState.set(TITLE_KEY + sessionId, undefined);
    viewPublisher.remove(sessionId);
    this.#lists.remove(sessionId);
    this.archive(sessionId, false);
    for (const viewId of viewPublisher.viewIds) {
      if (viewPublisher.shownBy(viewId) === sessionId) await this.create(agentId, undefined, viewId);
    }
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

  /** Reload the list of sessions from an agent, or from all that run. */
  async refresh(agentId?: string): Promise<void> {
    const agentIds = agentId === undefined ? [...this.#handles.keys()] : [agentId];
    await Promise.all(
      agentIds.map(async (each) => {
        const handle = this.#handles.get(each);
        if (handle !== undefined) await this.#lists.refresh(each, handle, this.#usedSessions(each));
      }),
    );
    this.publishList();
  }

  /** The open sessions of an agent with a title. */
  #usedSessions(agentId: string): Omit<ListedSession, "updatedAt">[] {
    const open = [...this.#open.values()].filter(({ id }) => agentIdOf(id) === agentId);
    return open.map(({ id, cwd }) => ({ id, cwd, title: this.#titleOfOpen(id) })).filter(({ title }) => title !== "");
  }

  /** The title of an open session, or what was asked first in it; empty if there is neither. */
  #titleOfOpen(sessionId: string): string {
    const title = this.#open.get(sessionId)?.title ?? "";
    return title === "" ? firstPromptIn(this.#context.viewPublisher.eventsOf(sessionId)) : title;
  }

  /** Publish the list of sessions to the view, the newest first. */
  publishList(): void {
    const known = new Map(this.#lists.all.map((each) => [each.id, each]));
    const archived = new Set(this.#lists.archived);
    for (const { id, cwd, title, isRunning } of this.#open.values()) {
      const shownTitle = title || (known.get(id)?.title ?? "") || this.#titleOfOpen(id);
      if (shownTitle !== "" || isRunning) known.set(id, { ...(known.get(id) ?? { id, cwd, updatedAt: NO_TIMESTAMP }), title: shownTitle });
    }
    const sessions = [...known.values()]
      .filter(({ id }) => !this.#context.isHidden(id))
      .map((each) => this.#described(each, archived.has(each.id)))
      .sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    this.#context.viewPublisher.publish({ type: "sessions", sessions });
  }

  #described(listed: ListedSession, isArchived: boolean): SessionSummary {
    const { id } = listed;
    const agentId = agentIdOf(id);
    const { features } = this.#handles.get(agentId) ?? {};
    return {
      ...listed,
      ...{ isArchived, isRunning: this.#open.get(id)?.isRunning === true, openQuestions: this.#context.openQuestionsOf(id) },
      ...{ agent: this.#context.agentName(agentId), canFork: features?.fork === true, canDelete: features?.delete === true },
    };
  }

  /** Load the session that a view showed last, or create one. */
  async #loadOrCreate(viewId: string): Promise<void> {
    const { viewPublisher, log } = this.#context;
    const agentId = viewPublisher.agentOf(viewId);
    const last = viewPublisher.shownBy(viewId);
    if (last === "" || this.#handles.get(agentId)?.features.load !== true) {
      await this.create(agentId, undefined, viewId);
      return;
    }
    try {
      if (this.#open.has(last)) this.#show(last, viewId);
      else await this.#load(last, viewId);
    } catch (error) {
      log.warn(`could not load the last session, so a new one is created: ${messageOf(error)}`);
      viewPublisher.remove(last);
      await this.create(agentId, undefined, viewId);
    }
  }

  /** Load a session: show it empty, and let the agent replay its updates. */
  async #load(sessionId: string, viewId: string, cwd?: string): Promise<void> {
    const handle = this.#requireHandle(agentIdOf(sessionId));
    const summary = this.#lists.find(sessionId);
    const directories = this.#directories(summary?.cwd ?? cwd);
    const session = this.#createSession(sessionId, directories.cwd, summary?.title ?? "", handle);
    this.#context.viewPublisher.clear(sessionId);
    this.#publishSession(session, true);
    this.#show(sessionId, viewId);
    try {
      const answer = await handle.agent.request<LoadSessionResponse | null>(
        methods.agent.session.load,
        { sessionId, ...directories, mcpServers: await this.#context.mcpServers() },
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

  #openNew(answer: NewSessionResponse, cwd: string, handle: AgentHandle, viewId: string): void {
    const { sessionId } = answer;
    const earlyEvents = [...this.#context.viewPublisher.eventsOf(sessionId)];
    this.#context.viewPublisher.clear(sessionId);
    const session = this.#createSession(sessionId, cwd, "", handle);
    this.#publishSession(session, false);
    this.#publishChoices(sessionId, answer);
    for (const event of earlyEvents) this.#record(sessionId, event);
    this.#show(sessionId, viewId);
  }

  #createSession(id: string, cwd: string, title: string, handle: AgentHandle): Session {
    const known = this.#context.workspaceState.get(TITLE_KEY + id) ?? title;
    const session = new Session(id, cwd, known, this.#context.createSessionContext(id, handle));
    this.#open.set(id, session);
    return session;
  }

  #show(sessionId: string, viewId: string): void {
    // The pages of editor tabs keep the ids of their sessions themselves.
    if (viewId === SIDE_BAR) this.#context.workspaceState.set(SHOWN_KEY, sessionId);
    this.#context.viewPublisher.show(sessionId, viewId);
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

  /** The directories of a session in a folder, by default the first; the other folders are additional ones. */
  #directories(cwd: string = this.#context.folders()[0] ?? ""): { cwd: string; additionalDirectories: string[] } {
    return { cwd, additionalDirectories: this.#context.folders().filter((folder) => folder !== cwd) };
  }

  /** Whether an agent is connected, and the sessions of its views are loaded. */
  #isUsable(agentId: string): boolean {
    return this.#handles.has(agentId) && !this.#connecting.has(agentId);
  }

  #requireHandle(agentId: string): AgentHandle {
    const handle = this.#handles.get(agentId);
    if (handle === undefined) throw new Error(t("The server is not running."));
    return handle;
  }
}
