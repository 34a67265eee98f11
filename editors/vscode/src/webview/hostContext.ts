/** Preact contexts: the connection to the host with the state that survives a reload of the view, and the session's folder. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Intent } from "../shared/intents.js";

export interface SavedViewState {
  readonly draft: string;
  /** How many prompts the session had when the draft was written. */
  readonly prompts: string;
  /** Id of the shown session. */
  readonly session: string;
  /** The last returned prompt that was inserted into the input, as `session:number`. */
  readonly restored: string;
  /** Number of the last attached files that were mentioned in the input. */
  readonly attached: string;
}

export interface Host {
  readonly post: (intent: Intent) => void;
  readonly saveState: (savedState: Partial<SavedViewState>) => void;
  readonly savedState: SavedViewState;
}

export const EMPTY_SAVED_STATE: SavedViewState = { draft: "", prompts: "", session: "", restored: "", attached: "" };

const HostContext = createContext<Host>({
  post: () => undefined,
  saveState: () => undefined,
  savedState: EMPTY_SAVED_STATE,
});

export const HostProvider = HostContext.Provider;

export function useHost(): Host {
  return useContext(HostContext);
}

const FolderContext = createContext("");

export const FolderProvider = FolderContext.Provider;

/** The folder of the shown session. */
export function useFolder(): string {
  return useContext(FolderContext);
}
