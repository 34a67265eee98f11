/**
 * The way from the view's parts to the host, and what the view keeps over a reload.
 *
 * Owns the context that carries both. The only place that knows `acquireVsCodeApi`'s shape.
 */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Intent } from "../shared/intents.js";

export interface Kept {
  readonly draft: string;
  /** The restored prompts that were put back already, as `session:number`. */
  readonly restored: string;
}

export interface Host {
  readonly post: (intent: Intent) => void;
  readonly keep: (kept: Kept) => void;
  readonly kept: Kept;
}

export const NOTHING_KEPT: Kept = { draft: "", restored: "" };

const HostContext = createContext<Host>({
  post: () => undefined,
  keep: () => undefined,
  kept: NOTHING_KEPT,
});

export const HostProvider = HostContext.Provider;

export function useHost(): Host {
  return useContext(HostContext);
}
