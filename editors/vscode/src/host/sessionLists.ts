/**
 * The sessions that each agent has, open or not.
 *
 * An agent lists its sessions. For one that cannot, those that were used in this workspace are listed. The sessions
 * of other agents than the own server are kept, so that they are listed before the agent is started for one.
 */
import { methods, type ClientContext, type SessionInfo } from "@agentclientprotocol/sdk";
import type { AgentFeatures, SessionSummary } from "../shared/events.js";
import { hasShape, isListOf, isText } from "../shared/validation.js";
import { agentIdOf, OWN_AGENT } from "./agentIds.js";
import { messageOf } from "./errors.js";
import type { Log, WorkspaceState } from "./ports.js";

export const TITLE_KEY = "title ";
const LISTED_KEY = "listed ";
const ARCHIVED_KEY = "archived";
/** Maximum number of `session/list` pages that are fetched. */
const MAX_PAGES = 4;
/** Maximum number of kept sessions of one agent. */
const MAX_KEPT = 50;
export const NO_TIMESTAMP = "";

/** A connected agent. */
export interface AgentHandle {
  readonly agent: ClientContext;
  readonly features: AgentFeatures;
  /** Whether the connection is still open. */
  isOpen(): boolean;
}

/** What is known of a session that may not be open. */
export type ListedSession = Pick<SessionSummary, "id" | "cwd" | "title" | "updatedAt">;

const isListed = hasShape({ id: isText, cwd: isText, title: isText, updatedAt: isText });

export interface SessionListsContext {
  readonly workspaceState: WorkspaceState;
  readonly log: Log;
  readonly folders: () => readonly string[];
  /** Ids of the agents whose sessions are listed. */
  readonly agentIds: () => readonly string[];
  now(): number;
}

export class SessionLists {
  readonly #context: SessionListsContext;
  readonly #byAgent = new Map<string, readonly ListedSession[]>();

  constructor(context: SessionListsContext) {
    this.#context = context;
    for (const agentId of context.agentIds()) this.#byAgent.set(agentId, listedIn(context.workspaceState.get(LISTED_KEY + agentId)));
  }

  get all(): readonly ListedSession[] {
    return [...this.#byAgent.values()].flat();
  }

  find(sessionId: string): ListedSession | undefined {
    return this.#byAgent.get(agentIdOf(sessionId))?.find(({ id }) => id === sessionId);
  }

  /** Reload the sessions of an agent; `used` are its open sessions with a title. A failure is logged. */
  async refresh(agentId: string, { agent, features }: AgentHandle, used: readonly Omit<ListedSession, "updatedAt">[]): Promise<void> {
    try {
      this.#byAgent.set(agentId, features.list ? await this.#listedBy(agent) : this.#withUsed(agentId, used));
    } catch (error) {
      this.#context.log.warn(`could not list the sessions: ${messageOf(error)}`);
    }
    this.#keep(agentId, features.load);
  }

  rename(sessionId: string, title: string): void {
    this.#change(sessionId, (each) => [{ ...each, title }]);
  }

  remove(sessionId: string): void {
    this.#change(sessionId, () => []);
  }

  /** Hide a session in the list, or show it again. The protocol knows no archive, so VS Code keeps it. */
  archive(sessionId: string, isArchived: boolean): void {
    const others = this.archived.filter((id) => id !== sessionId);
    const archived = isArchived ? [...others, sessionId] : others;
    this.#context.workspaceState.set(ARCHIVED_KEY, archived.length === 0 ? undefined : archived.join("\n"));
  }

  /** Ids of the archived sessions. */
  get archived(): readonly string[] {
    return (this.#context.workspaceState.get(ARCHIVED_KEY) ?? "").split("\n").filter((id) => id !== "");
  }

  #change(sessionId: string, change: (listed: ListedSession) => readonly ListedSession[]): void {
    const agentId = agentIdOf(sessionId);
    const listed = this.#byAgent.get(agentId) ?? [];
    this.#byAgent.set(agentId, listed.flatMap((each) => (each.id === sessionId ? change(each) : [each])));
    this.#keep(agentId, this.#context.workspaceState.get(LISTED_KEY + agentId) !== undefined);
  }

  async #listedBy(agent: ClientContext): Promise<ListedSession[]> {
    const lists = await Promise.all(this.#context.folders().map((folder) => listSessions(agent, folder)));
    const found = new Map(lists.flat().map((info) => [info.sessionId, info]));
    return [...found.values()].map((info) => ({
      ...{ id: info.sessionId, cwd: info.cwd, updatedAt: info.updatedAt ?? NO_TIMESTAMP },
      title: this.#context.workspaceState.get(TITLE_KEY + info.sessionId) ?? info.title ?? "",
    }));
  }

  #withUsed(agentId: string, used: readonly Omit<ListedSession, "updatedAt">[]): ListedSession[] {
    const updatedAt = new Date(this.#context.now()).toISOString();
    const known = new Map((this.#byAgent.get(agentId) ?? []).map((each) => [each.id, each]));
    for (const { id, cwd, title } of used) known.set(id, { updatedAt, ...known.get(id), id, cwd, title });
    return [...known.values()];
  }

  /** Keep the newest sessions of another agent, if it can load them later. */
  #keep(agentId: string, canLoad: boolean): void {
    if (agentId === OWN_AGENT) return;
    const newest = [...(this.#byAgent.get(agentId) ?? [])].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1)).slice(0, MAX_KEPT);
    this.#context.workspaceState.set(LISTED_KEY + agentId, canLoad && newest.length > 0 ? JSON.stringify(newest) : undefined);
  }
}

/** Return the sessions in a kept list. */
function listedIn(text: string | undefined): readonly ListedSession[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return isListOf(isListed)(value) ? (value as ListedSession[]) : [];
  } catch {
    return []; // written by another version, or corrupt
  }
}

async function listSessions(agent: ClientContext, cwd: string): Promise<SessionInfo[]> {
  const found: SessionInfo[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await agent.request(methods.agent.session.list, {
      cwd,
      ...(typeof cursor === "string" && { cursor }),
    });
    found.push(...answer.sessions);
    cursor = answer.nextCursor;
    if (typeof cursor !== "string") break;
  }
  return found;
}
