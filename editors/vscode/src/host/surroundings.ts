/**
 * All that the host needs around it.
 *
 * Owns the shapes only: `extension/` provides them in VS Code, tests provide fakes.
 */
import type { Stream } from "@agentclientprotocol/sdk";
import type { ConnectionStatus } from "../shared/events.js";
import type { Run } from "./contextReport.js";
import type { Launch } from "./locating.js";
import type { Desk, Disk, Documents, Drawer, Log, Memory, Problem, TerminalPanel } from "./ports.js";

/** A server that was started: its wire, and how it ended. */
export interface Wire {
  readonly stream: Stream;
  readonly ended: Promise<string>;
  dispose(): void;
}

export interface Surroundings {
  readonly version: string;
  readonly desk: Desk;
  readonly documents: Documents;
  readonly disk: Disk;
  readonly panel: TerminalPanel;
  readonly memory: Memory;
  readonly drawer: Drawer;
  readonly log: Log;
  /** Find the server; see `locating`. */
  locate(): Promise<Launch>;
  start(launch: Launch, cwd: string): Wire;
  readonly run?: Run;
  problemsOf(path: string): readonly Problem[];
  isTrusted(): boolean;
  followsAtFirst(): boolean;
  wait(milliseconds: number): Promise<void>;
  now(): number;
  /** The state that the status bar and the badge show has changed. */
  onState(state: HostState): void;
  /** A permission is asked for, to be told where the chat is hidden. */
  onPermission(questionId: string, title: string): void;
}

export interface HostState {
  readonly status: ConnectionStatus;
  readonly message: string;
  readonly isRunning: boolean;
  readonly waiting: number;
}
