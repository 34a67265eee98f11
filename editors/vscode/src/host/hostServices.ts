/** Dependencies of the host: `extension/` provides them in VS Code, tests provide fakes. */
import type { Stream } from "@agentclientprotocol/sdk";
import type { ConnectionStatus } from "../shared/events.js";
import type { CommandRunner } from "./contextReport.js";
import type { ServerCommand } from "./serverLocator.js";
import type { EditorWindow, Disk, Documents, TextStore, Log, WorkspaceState, Problem, TerminalPanel } from "./ports.js";

/** A started server process: its message stream and its exit. */
export interface ServerHandle {
  readonly stream: Stream;
  /** Resolves with the reason when the process exits. */
  readonly ended: Promise<string>;
  dispose(): void;
}

/** Services that the host is built with. */
export interface HostServices {
  readonly version: string;
  readonly editorWindow: EditorWindow;
  readonly documents: Documents;
  readonly disk: Disk;
  readonly terminalPanel: TerminalPanel;
  readonly workspaceState: WorkspaceState;
  readonly textStore: TextStore;
  readonly log: Log;
  /** Find the server; see `serverLocator`. */
  locateServer(): Promise<ServerCommand>;
  startServer(serverCommand: ServerCommand, cwd: string): ServerHandle;
  readonly runCommandLine?: CommandRunner;
  problemsOf(path: string): readonly Problem[];
  isTrusted(): boolean;
  shouldFollowInitially(): boolean;
  wait(milliseconds: number): Promise<void>;
  now(): number;
  /** Called when the state that the status bar and the badge show has changed. */
  onState(state: HostState): void;
  /** Called when a permission is requested, so that a notification can appear if the chat is hidden. */
  onPermission(questionId: string, title: string): void;
}

/** State that the status bar and the badge show. */
export interface HostState {
  readonly status: ConnectionStatus;
  readonly message: string;
  readonly isRunning: boolean;
  readonly openQuestions: number;
}
