/** The agents whose sessions a window shows or has shown, each with a process of its own. */
import { t } from "../shared/l10n.js";
import { agentsOf, agentWithId, chosenAgent, storeAgentChoice, type AgentChoice } from "./agentChoice.js";
import { agentIdOf, OWN_AGENT } from "./agentIds.js";
import { AgentProcess, type AgentProcessContext } from "./agentProcess.js";
import type { EditorWindow, WorkspaceState } from "./ports.js";
import type { SessionManager } from "./sessionManager.js";
import type { ViewPublisher } from "./viewPublisher.js";

export interface AgentProcessesContext extends AgentProcessContext {
  readonly workspaceState: WorkspaceState;
  readonly viewPublisher: ViewPublisher;
  readonly editorWindow: EditorWindow;
  sessions(): SessionManager;
}

export class AgentProcesses {
  readonly #context: AgentProcessesContext;
  readonly #started = new Map<string, AgentProcess>();

  constructor(context: AgentProcessesContext) {
    this.#context = context;
  }

  /** Ids of the agents of the workspace, the own server first. */
  get ids(): readonly string[] {
    return [OWN_AGENT, ...agentsOf(this.#context.workspaceState).map(({ id }) => id)];
  }

  /** Return an agent of the workspace, which may not have been started. */
  get(agentId: string): AgentProcess {
    const known = this.#started.get(agentId);
    if (known !== undefined) return known;
    const agent = new AgentProcess(agentWithId(this.#context.workspaceState, agentId), this.#context);
    this.#started.set(agentId, agent);
    return agent;
  }

  /** Return the agent of a session. */
  of(sessionId: string): AgentProcess {
    return this.get(agentIdOf(sessionId));
  }

  /** The agent of the session that the active view shows, or waits for. */
  get shown(): AgentProcess {
    return this.get(this.#context.viewPublisher.shownAgentId);
  }

  /** Name of a session's agent if it is another than the own server; else empty. */
  otherNameOf(sessionId: string): string {
    const agentId = agentIdOf(sessionId);
    return agentId === OWN_AGENT ? "" : this.get(agentId).name;
  }

  /** Start again every agent that runs, or that a view waits for: something has changed for all of them. */
  restartAll(): void {
    const { viewPublisher } = this.#context;
    const shown = viewPublisher.viewIds.map((viewId) => this.get(viewPublisher.agentOf(viewId)));
    const running = [...this.#started.values()].filter(({ isStarted }) => isStarted);
    for (const agent of new Set([...shown, ...running])) agent.restart();
  }

  /** Let an agent answer new sessions from now on, and show one of them; null is the own server. */
  async switchTo(choice: AgentChoice | null): Promise<void> {
    const { workspaceState } = this.#context;
    const id = choice?.id ?? OWN_AGENT;
    const hasChanged = JSON.stringify(choice) !== JSON.stringify(agentWithId(workspaceState, id));
    storeAgentChoice(workspaceState, choice);
    if (hasChanged) this.#replace(id);
    await this.#context.sessions().createOf(id);
  }

  /** Let the own server answer where a new session of an agent was wanted that is not installed any more. */
  async leave({ id, name, message }: AgentProcess): Promise<void> {
    const { workspaceState, viewPublisher, editorWindow } = this.#context;
    if (id === OWN_AGENT) return;
    if (chosenAgent(workspaceState)?.id === id) storeAgentChoice(workspaceState, null);
    const waiting = viewPublisher.viewIds.filter((viewId) => viewPublisher.agentOf(viewId) === id && viewPublisher.shownBy(viewId) === "");
    if (waiting.length > 0) void editorWindow.showWarning(t("{0} cannot be started, so the Hermes Agent answers: {1}", name, message), []);
    for (const viewId of waiting) await this.#context.sessions().createOf(OWN_AGENT, undefined, viewId);
  }

  dispose(): void {
    for (const agent of this.#started.values()) agent.dispose();
  }

  /** Forget the process of an agent that is started in another way from now on; its views get their sessions again. */
  #replace(id: string): void {
    const earlier = this.#started.get(id);
    if (earlier === undefined) return;
    earlier.dispose();
    this.#started.delete(id);
    if (earlier.isStarted) this.get(id).start();
  }
}
