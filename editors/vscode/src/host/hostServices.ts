/** Dependencies of the host: `extension/` provides them in VS Code, tests provide fakes. */
import type { McpServer, Stream } from "@agentclientprotocol/sdk";
import type { ConnectionStatus } from "../shared/events.js";
import type { AgentChoice } from "./agentChoice.js";
import type { CommandRunner } from "./contextReport.js";
import type { MentionReader } from "./promptBlocks.js";
import type { ReviewContext, ReviewService } from "./reviewService.js";
import type { ServerCommand } from "./serverLocator.js";
import type { SessionFacts } from "./sessionDescription.js";
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
  /** Find the program of an agent, null for the own server; see `serverLocator`. */
  locateServer(choice: AgentChoice | null): Promise<ServerCommand>;
  /** Let the user choose an agent; undefined if the choice is dismissed. Null is the own server. */
  chooseAgent(): Promise<AgentChoice | null | undefined>;
  startServer(serverCommand: ServerCommand, cwd: string): ServerHandle;
  readonly runCommandLine?: CommandRunner;
  problemsOf(path: string): readonly Problem[];
  isTrusted(): boolean;
  shouldFollowInitially(): boolean;
  wait(milliseconds: number): Promise<void>;
  now(): number;
  /** Called when the state that the status bar and the badge show has changed. */
  onState(state: HostState): void;
  /** Called with every new question, so that a notification can appear if it is not in view. */
  onQuestion(question: AskedQuestion): void;
  /** Store an API key that the user entered; by default, the server does. */
  readonly storeKey?: (serverCommand: ServerCommand, providerId: string, key: string) => Promise<void>;
  /** Find the program `uv`; null if it is not installed. */
  locateUv(): Promise<string | null>;
  /** Return the editor's MCP servers that the user agreed to pass on. */
  mcpServers(): Promise<McpServer[]>;
  /** Answer `_hermes/symbols`. */
  symbols(params: unknown): Promise<object>;
  /** Read a script that the view loads at first use. */
  readScript(name: string): Promise<string>;
  /** Load the review of changes, which shows them in the editors. */
  loadReviews(context: ReviewContext): Promise<ReviewService>;
  /** What mentions of the workspace's problems and of terminal output refer to. */
  readonly mentionSources: Pick<MentionReader, "allProblems" | "terminalOutput">;
}

/** State that the status bar and the badge show. */
export interface HostState {
  /** Status of the agent of the shown session. */
  readonly status: ConnectionStatus;
  readonly message: string;
  readonly isRunning: boolean;
  readonly openQuestions: number;
  /** Title of the session with the oldest question; empty if it has none, or is shown. */
  readonly askingTitle: string;
  /** Name of the agent with the oldest question; empty for the own server. */
  readonly askingAgent: string;
  /** Name of the agent of the shown session; empty for the own server. */
  readonly agent: string;
  /** Model, mode and cost of the shown session, as far as they are known. */
  readonly session: SessionFacts;
}

/** A question that an agent has just asked. */
export interface AskedQuestion {
  readonly questionId: string;
  readonly sessionId: string;
  /** Name of the agent that asks; empty for the own server. */
  readonly agent: string;
  /** Whether it can be rejected with a single button. */
  readonly isPermission: boolean;
  /** What is asked, with the session's title if the session is not shown. */
  readonly text: string;
  readonly isInShownSession: boolean;
  /** Resolves when it is answered or withdrawn. */
  readonly answered: Promise<unknown>;
}
