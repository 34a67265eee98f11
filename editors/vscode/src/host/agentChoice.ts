/** The agents that the user chose for a workspace. Nothing in the workspace can make this choice. */
import { hasShape, isListOf, isRecord, isText } from "../shared/validation.js";
import { OWN_AGENT } from "./agentIds.js";
import type { WorkspaceState } from "./ports.js";
import type { ServerSettings } from "./serverLocator.js";

/** The agent of new sessions. */
const KEY = "agent";
/** All agents that were chosen, because their sessions remain. */
const CHOSEN_KEY = "agents";

export interface AgentChoice extends ServerSettings {
  readonly id: string;
  readonly name: string;
}

const isChoice = hasShape({
  id: isText,
  name: isText,
  command: isText,
  arguments: isListOf(isText),
  environment: (value) => isRecord(value) && Object.values(value).every(isText),
});

/** Return the agent of new sessions; null for the own server. */
export function chosenAgent(state: WorkspaceState): AgentChoice | null {
  const value = parsed(state.get(KEY));
  return isChoice(value) ? (value as AgentChoice) : null;
}

/** Return the agents of the workspace besides the own server. */
export function agentsOf(state: WorkspaceState): readonly AgentChoice[] {
  const value = parsed(state.get(CHOSEN_KEY));
  const known = (Array.isArray(value) ? (value as unknown[]) : []).filter(isChoice) as AgentChoice[];
  const chosen = chosenAgent(state);
  return chosen === null || known.some(({ id }) => id === chosen.id) ? known : [...known, chosen];
}

/** Return an agent of the workspace by its id; null for the own server. An unknown agent has no command. */
export function agentWithId(state: WorkspaceState, id: string): AgentChoice | null {
  if (id === OWN_AGENT) return null;
  return agentsOf(state).find((each) => each.id === id) ?? { id, name: id, command: "", arguments: [], environment: {} };
}

export function storeAgentChoice(state: WorkspaceState, choice: AgentChoice | null): void {
  const known = agentsOf(state);
  const chosen = choice === null ? known : [...known.filter(({ id }) => id !== choice.id), choice];
  state.set(KEY, choice === null ? undefined : JSON.stringify(choice));
  state.set(CHOSEN_KEY, chosen.length === 0 ? undefined : JSON.stringify(chosen));
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null; // written by another version, or corrupt
  }
}
