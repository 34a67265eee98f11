/**
 * The sessions of a window.
 *
 * Owns which are open, which one is shown, and how they are opened, taken up again, forked, renamed
 * and deleted. Refuses to know what is said in them.
 */
import {
  methods,
  type ClientContext,
  type LoadSessionResponse,
  type NewSessionResponse,
  type SessionInfo,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import type { AgentAbilities, SessionEvent, SessionSummary } from "../shared/events.js";
import { FORK_METHOD } from "./connection.js";
import { messageOf } from "./failures.js";
import type { Hub } from "./hub.js";
import type { Log, Memory } from "./ports.js";
import { Session, type SessionSurroundings } from "./session.js";

const SHOWN_KEY = "session";
const TITLE_KEY = "title ";
/** The list shows no more pages than these. */
const MOST_PAGES = 4;
const FAR_PAST = "";

export interface AgentLink {
  readonly agent: ClientContext;
  readonly can: AgentAbilities;
  /** Whether the connection is still there. */
  isOpen(): boolean;
}

export interface SessionsParts {
  readonly hub: Hub;
  readonly memory: Memory;
  readonly log: Log;
  readonly folders: () => readonly string[];
  surroundings(sessionId: string, link: AgentLink): SessionSurroundings;
  /** Return what the agent told of a session with what it does not know of it. */
  completed(sessionId: string, told: readonly SessionEvent[]): readonly SessionEvent[];
  /** A session was told again, all of it. */
  onLoaded(sessionId: string): void;
}

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #open = new Map<string, Session>();
  #listed: readonly SessionSummary[] = [];
  #link: AgentLink | null = null;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  /** The session that is shown, if it can be talked to. */
  get shown(): Session | undefined {
    return this.#open.get(this.#parts.hub.shown);
  }

  find(sessionId: string): Session | undefined {
    return this.#open.get(sessionId);
  }

  get isRunning(): boolean {
    return [...this.#open.values()].some((session) => session.isRunning);
  }

  /** Take up the work with a server that has just been started. */
  async begin(link: AgentLink): Promise<void> {
    this.#link = link;
    const last = this.#parts.hub.shown || this.#parts.memory.get(SHOWN_KEY);
    await this.refresh();
    if (last === undefined || last === "" || !link.can.load) await this.create();
    else await this.#loadOrCreate(last);
  }

  /** The server is gone: nothing can be asked, and what ran ends with its connection. */
  lose(): void {
    this.#link = null;
    this.#open.clear();
  }

  /** Open a session, and show it. */
  async create(): Promise<void> {
    const link = this.#required();
    const answer = await link.agent.request(methods.agent.session.new, {
      ...this.#place(),
      mcpServers: [],
    });
    this.#adopt(answer, "", link);
  }

  /** Show a session, taken up again if it is not open. */
  async show(sessionId: string): Promise<void> {
    if (this.#open.has(sessionId)) this.#show(sessionId);
    else await this.#load(sessionId);
  }

  /** Begin a session that goes on from another, and show it. */
  async fork(sessionId: string): Promise<void> {
    const link = this.#required();
    const answer = await link.agent.request<NewSessionResponse>(FORK_METHOD, {
      sessionId,
      ...this.#place(),
      mcpServers: [],
    });
    // The fork's conversation is kept by the agent: loading it shows what was said.
    await this.#load(answer.sessionId);
    await this.refresh();
  }

  rename(sessionId: string, title: string): void {
    this.#parts.memory.set(TITLE_KEY + sessionId, title.trim() === "" ? undefined : title.trim());
    const session = this.#open.get(sessionId);
    if (session !== undefined) this.retitle(sessionId, title);
    this.#listed = this.#listed.map((each) =>
      each.id === sessionId ? { ...each, title: title.trim() || each.title } : each,
    );
    this.tellList();
  }

  /** Note a title that the agent gave; the user's own holds against it. */
  retitle(sessionId: string, title: string): void {
    const session = this.#open.get(sessionId);
    if (session === undefined) return;
    session.title = this.#parts.memory.get(TITLE_KEY + sessionId) ?? title;
    this.#record(sessionId, { type: "title", title: session.title });
    this.tellList();
  }

  async delete(sessionId: string): Promise<void> {
    const link = this.#required();
    await this.#open.get(sessionId)?.stop();
    await link.agent.request(methods.agent.session.delete, { sessionId });
    this.#open.delete(sessionId);
    this.#parts.memory.set(TITLE_KEY + sessionId, undefined);
    this.#parts.hub.remove(sessionId);
    this.#listed = this.#listed.filter((each) => each.id !== sessionId);
    if (this.#parts.hub.shown === sessionId) await this.create();
    this.tellList();
  }

  /** Keep an update with its session; one that comes before its session is kept for it. */
  update(notification: SessionNotification): void {
    const { sessionId, update } = notification;
    this.#record(sessionId, { type: "update", update });
    if (update.sessionUpdate === "session_info_update" && typeof update.title === "string") {
      this.retitle(sessionId, update.title);
    }
  }

  /** Ask the agent for its sessions. */
  async refresh(): Promise<void> {
    const link = this.#link;
    if (link?.can.list !== true) return;
    try {
      const found = await listed(link.agent, this.#parts.folders()[0]);
      this.#listed = found.map((info) => this.#summary(info));
    } catch (error) {
      this.#parts.log.warn(`the sessions could not be listed: ${messageOf(error)}`);
    }
    this.tellList();
  }

  /** Tell the view which sessions there are, the newest first. */
  tellList(): void {
    const known = new Map(this.#listed.map((each) => [each.id, each]));
    for (const session of this.#open.values()) {
      const { id, cwd, isRunning } = session;
      const entry = known.get(id) ?? { id, cwd, title: "", updatedAt: FAR_PAST, isRunning };
      if (session.title === "" && !known.has(id) && !isRunning) continue;
      known.set(id, { ...entry, title: session.title || entry.title, isRunning });
    }
    const sessions = [...known.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    this.#parts.hub.tell({ type: "sessions", sessions });
  }

  async #loadOrCreate(sessionId: string): Promise<void> {
    try {
      await this.#load(sessionId);
    } catch (error) {
      this.#parts.log.warn(`the session could not be taken up again: ${messageOf(error)}`);
      this.#parts.hub.remove(sessionId);
      await this.create();
    }
  }

  /** Have the agent tell all of a session again, and show it meanwhile. */
  async #load(sessionId: string): Promise<void> {
    const link = this.#required();
    const summary = this.#listed.find((each) => each.id === sessionId);
    const place = summary === undefined ? this.#place() : { ...this.#place(), cwd: summary.cwd };
    const session = this.#hold(sessionId, place.cwd, summary?.title ?? "", link);
    this.#parts.hub.clear(sessionId);
    this.#tellSession(session, true);
    this.#show(sessionId);
    try {
      const answer = await link.agent.request<LoadSessionResponse | null>(
        methods.agent.session.load,
        { sessionId, ...place, mcpServers: [] },
      );
      this.#tellSession(session, false);
      this.#tellChoices(sessionId, answer ?? undefined);
      const { hub } = this.#parts;
      hub.retell(sessionId, this.#parts.completed(sessionId, [...hub.eventsOf(sessionId)]));
      this.#parts.onLoaded(sessionId);
    } catch (error) {
      this.#open.delete(sessionId);
      throw error;
    }
  }

  #adopt(answer: NewSessionResponse, title: string, link: AgentLink): void {
    const { sessionId } = answer;
    const early = [...this.#parts.hub.eventsOf(sessionId)];
    this.#parts.hub.clear(sessionId);
    const session = this.#hold(sessionId, this.#place().cwd, title, link);
    this.#tellSession(session, false);
    this.#tellChoices(sessionId, answer);
    for (const event of early) this.#record(sessionId, event);
    this.#show(sessionId);
  }

  #hold(id: string, cwd: string, title: string, link: AgentLink): Session {
    const known = this.#parts.memory.get(TITLE_KEY + id) ?? title;
    const session = new Session(id, cwd, known, this.#parts.surroundings(id, link));
    this.#open.set(id, session);
    return session;
  }

  #show(sessionId: string): void {
    this.#parts.memory.set(SHOWN_KEY, sessionId);
    this.#parts.hub.show(sessionId);
    this.tellList();
  }

  #tellSession(session: Session, isLoading: boolean): void {
    const { id, cwd, title } = session;
    this.#record(id, { type: "session", id, cwd, title, isLoading });
  }

  #tellChoices(sessionId: string, answer: Omit<NewSessionResponse, "sessionId"> | undefined): void {
    const modes = answer?.modes ?? null;
    this.#record(sessionId, { type: "choices", modes, options: answer?.configOptions ?? [] });
  }

  #record(sessionId: string, event: SessionEvent): void {
    this.#parts.hub.record(sessionId, event);
  }

  #place(): { cwd: string; additionalDirectories: string[] } {
    const [cwd = "", ...additionalDirectories] = this.#parts.folders();
    return { cwd, additionalDirectories };
  }

  #required(): AgentLink {
    if (this.#link === null) throw new Error("The server is not there.");
    return this.#link;
  }

  #summary(info: SessionInfo): SessionSummary {
    const { sessionId: id, cwd } = info;
    const title = this.#parts.memory.get(TITLE_KEY + id) ?? info.title ?? "";
    return { id, cwd, title, updatedAt: info.updatedAt ?? FAR_PAST, isRunning: false };
  }
}

async function listed(agent: ClientContext, cwd: string | undefined): Promise<SessionInfo[]> {
  const found: SessionInfo[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
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
