/**
 * The sessions of a window.
 *
 * Tracks which are open and which one is shown; creates, loads, forks, renames and deletes them.
 */
import {
  methods,
  type ClientContext,
  type LoadSessionResponse,
  type McpServer,
  type NewSessionResponse,
  type SessionInfo,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import type { AgentFeatures, SessionEvent, SessionSummary } from "../shared/events.js";
import { FORK_METHOD } from "./connection.js";
import { messageOf } from "./errors.js";
import { SIDE_BAR, type ViewPublisher } from "./viewPublisher.js";
import type { Log, WorkspaceState } from "./ports.js";
import { Session, type SessionContext } from "./session.js";
import { t } from "../shared/l10n.js";

const SHOWN_KEY = "session";
const TITLE_KEY = "title ";
const ARCHIVED_KEY = "archived";
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
  /** The MCP servers that sessions get. */
  readonly mcpServers: () => Promise<McpServer[]>;
  /** Id of the chosen agent; empty for the own server. */
  readonly agentId: () => string;
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
  #summaries: readonly SessionSummary[] = [];
  #handle: AgentHandle | null = null;
  #isConnecting = false;

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

  /** Load the sessions that the views showed last from a newly connected agent, or create them. */
  async onConnected(handle: AgentHandle): Promise<void> {
    const { viewPublisher } = this.#context;
    this.#handle = handle;
    this.#isConnecting = true;
    await this.refresh();
    try {
      const isWaiting = (viewId: string): boolean => !this.#open.has(viewPublisher.shownBy(viewId));
      // A loop: views may be opened meanwhile.
      for (let next = viewPublisher.viewIds.find(isWaiting); next !== undefined; next = viewPublisher.viewIds.find(isWaiting)) {
        await this.#loadOrCreate(next);
      }
    } finally {
      this.#isConnecting = false;
    }
  }

  /** Show a session in a view whose page is ready, unless it shows one. While the agent connects, that follows. */
  async fill(viewId: string): Promise<void> {
    const isFilled = this.#open.has(this.#context.viewPublisher.shownBy(viewId));
    if (this.#handle !== null && !this.#isConnecting && !isFilled) await this.#loadOrCreate(viewId);
  }

  /** Forget all open sessions, because the server stopped. Running turns end with the connection. */
  onDisconnected(): void {
    this.#handle = null;
    this.#open.clear();
  }

  /** Create a session in a workspace folder, by default the first, and show it. */
  async create(cwd?: string, viewId: string = this.#context.viewPublisher.activeId): Promise<void> {
    const handle = this.#requireHandle();
    const directories = this.#directories(cwd);
    const answer = await handle.agent.request(methods.agent.session.new, { ...directories, mcpServers: await this.#context.mcpServers() });
    this.#openNew(answer, directories.cwd, handle, viewId);
  }

  /** Show a session, loading it if it is not open. */
  async show(sessionId: string, viewId: string = this.#context.viewPublisher.activeId): Promise<void> {
    if (this.#open.has(sessionId)) this.#show(sessionId, viewId);
    else await this.#load(sessionId, viewId);
  }

  /** Fork a session and show the fork. */
  async fork(sessionId: string): Promise<void> {
    const handle = this.#requireHandle();
    const viewId = this.#context.viewPublisher.activeId;
    const { cwd } = this.#summaries.find(({ id }) => id === sessionId) ?? {};
    const directories = this.#directories(cwd);
    const answer = await handle.agent.request<NewSessionResponse>(FORK_METHOD, { sessionId, ...directories, mcpServers: await this.#context.mcpServers() });
    // The fork request returns no history: loading the fork replays its conversation.
    await this.#load(answer.sessionId, viewId, directories.cwd);
    await this.refresh();
  }

  /** Hide a session in the list, or show it again. The protocol knows no archive, so VS Code keeps it. */
  archive(sessionId: string, isArchived: boolean): void {
    const others = this.#archived().filter((id) => id !== sessionId);
    const archived = isArchived ? [...others, sessionId] : others;
    this.#context.workspaceState.set(ARCHIVED_KEY, archived.length === 0 ? undefined : archived.join("\n"));
    this.publishList();
  }

  #archived(): string[] {
    return (this.#context.workspaceState.get(ARCHIVED_KEY) ?? "").split("\n").filter((id) => id !== "");
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
    const { workspaceState, viewPublisher } = this.#context;
    workspaceState.set(TITLE_KEY + sessionId, undefined);
    viewPublisher.remove(sessionId);
    this.#summaries = this.#summaries.filter((each) => each.id !== sessionId);
    this.archive(sessionId, false);
    for (const viewId of viewPublisher.viewIds) {
      if (viewPublisher.shownBy(viewId) === sessionId) await this.create(undefined, viewId);
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

  /** Reload the list of sessions from the agent. */
  async refresh(): Promise<void> {
    const handle = this.#handle;
    if (handle?.features.list !== true) return;
    try {
      const lists = await Promise.all(this.#context.folders().map((folder) => listSessions(handle.agent, folder)));
      const found = new Map(lists.flat().map((info) => [info.sessionId, info]));
      this.#summaries = [...found.values()].map((info) => this.#summarize(info));
    } catch (error) {
      this.#context.log.warn(`could not list the sessions: ${messageOf(error)}`);
    }
    this.publishList();
  }

  /** Publish the list of sessions to the view, the newest first. */
  publishList(): void {
    const known = new Map(this.#summaries.map((each) => [each.id, each]));
    const archived = new Set(this.#archived());
    for (const session of this.#open.values()) {
      const { id, cwd, isRunning } = session;
      const openQuestions = this.#context.openQuestionsOf(id);
      const entry = known.get(id) ?? { id, cwd, title: "", updatedAt: NO_TIMESTAMP, isRunning, openQuestions, isArchived: false };
      if (session.title === "" && !known.has(id) && !isRunning) continue;
      known.set(id, { ...entry, title: session.title || entry.title, isRunning, openQuestions });
    }
    const sessions = [...known.values()]
      .filter(({ id }) => !this.#context.isHidden(id))
      .map((each) => ({ ...each, isArchived: archived.has(each.id) }))
      .sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    this.#context.viewPublisher.publish({ type: "sessions", sessions });
  }

  /** Load the session that a view showed last, or create one. */
  async #loadOrCreate(viewId: string): Promise<void> {
    const { viewPublisher, workspaceState, log } = this.#context;
    const last = viewPublisher.shownBy(viewId) || (viewId === SIDE_BAR ? workspaceState.get(SHOWN_KEY + this.#context.agentId()) : "");
    if (last === undefined || last === "" || this.#handle?.features.load !== true) {
      await this.create(undefined, viewId);
      return;
    }
    try {
      await this.show(last, viewId);
    } catch (error) {
      log.warn(`could not load the last session, so a new one is created: ${messageOf(error)}`);
      viewPublisher.remove(last);
      await this.create(undefined, viewId);
    }
  }

  /** Load a session: show it empty, and let the agent replay its updates. */
  async #load(sessionId: string, viewId: string, cwd?: string): Promise<void> {
    const handle = this.#requireHandle();
    const summary = this.#summaries.find((each) => each.id === sessionId);
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
    if (viewId === SIDE_BAR) this.#context.workspaceState.set(SHOWN_KEY + this.#context.agentId(), sessionId);
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

  #requireHandle(): AgentHandle {
    if (this.#handle === null) throw new Error(t("The server is not running."));
    return this.#handle;
  }

  #summarize(info: SessionInfo): SessionSummary {
    const { sessionId: id, cwd } = info;
    const title = this.#context.workspaceState.get(TITLE_KEY + id) ?? info.title ?? "";
    return { id, cwd, title, updatedAt: info.updatedAt ?? NO_TIMESTAMP, isRunning: false, openQuestions: 0, isArchived: false };
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
