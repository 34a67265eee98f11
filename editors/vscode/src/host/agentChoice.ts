/** The agent that the user chose for a workspace. Nothing in the workspace can make this choice. */
import { hasShape, isListOf, isRecord, isText } from "../shared/validation.js";
import type { WorkspaceState } from "./ports.js";
import type { ServerSettings } from "./serverLocator.js";

const KEY = "agent";

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

/** Return the chosen agent; null for the own server. */
export function chosenAgent(state: WorkspaceState): AgentChoice | null {
  try {
    const value: unknown = JSON.parse(state.get(KEY) ?? "null");
    return isChoice(value) ? (value as AgentChoice) : null;
  } catch {
    return null; // written by another version, or corrupt
  }
}

export function storeAgentChoice(state: WorkspaceState, choice: AgentChoice | null): void {
  state.set(KEY, choice === null ? undefined : JSON.stringify(choice));
}
