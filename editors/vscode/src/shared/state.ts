/**
 * What the view shows, whole.
 *
 * Owns the shapes and how they are before anything is known. Refuses to know how it becomes so
 * (`reducer`) and how it looks.
 */
import type {
  AvailableCommand,
  ContentBlock,
  PermissionOption,
  PlanEntry,
  SessionConfigOption,
  SessionModeState,
  TerminalExitStatus,
  ToolCallContent,
  ToolCallLocation,
  ToolCallStatus,
  ToolKind,
  UsageUpdate,
} from "@agentclientprotocol/sdk";
import type {
  ChangedFile,
  ConnectionEvent,
  ContextEvent,
  EditorEvent,
  ElicitationEvent,
  Manner,
  QueuedPrompt,
  SessionSummary,
  ViewRequest,
} from "./events.js";

/** A tool call as it stands. */
export interface Call {
  readonly id: string;
  readonly title: string;
  readonly name: string;
  readonly kind: ToolKind;
  readonly status: ToolCallStatus;
  readonly content: readonly ToolCallContent[];
  readonly locations: readonly ToolCallLocation[];
  readonly rawInput: unknown;
  readonly rawOutput: unknown;
  /** The call of which this one is a part; empty for one of the agent's own. */
  readonly parentId: string;
  /** Files of instructions that came with its result. */
  readonly instructions: readonly string[];
  /** What the user chose when asked; empty where nobody asked. */
  readonly decision: string;
  readonly isCancelled: boolean;
}

/** One entry of the transcript. `key` is stable as long as the entry is there. */
export type Item =
  | {
      readonly kind: "user";
      readonly key: string;
      readonly messageId: string;
      readonly blocks: readonly ContentBlock[];
      readonly manner: Manner;
      /** Shown before the agent has repeated it. */
      readonly isOurs: boolean;
    }
  | { readonly kind: "agent"; readonly key: string; readonly messageId: string; readonly text: string }
  | { readonly kind: "thought"; readonly key: string; readonly messageId: string; readonly text: string }
  | { readonly kind: "media"; readonly key: string; readonly block: ContentBlock }
  | { readonly kind: "call"; readonly key: string; readonly call: Call }
  | {
      readonly kind: "notice";
      readonly key: string;
      readonly severity: string;
      readonly title: string;
      readonly description: string;
    }
  | {
      readonly kind: "compaction";
      readonly key: string;
      readonly id: string;
      readonly status: string;
      readonly summary: string;
      readonly error: string;
    }
  | { readonly kind: "ending"; readonly key: string; readonly reason: string; readonly error: string };

export interface PermissionQuestion {
  readonly kind: "permission";
  readonly id: string;
  readonly callId: string;
  readonly title: string;
  readonly options: readonly PermissionOption[];
}

export type Question =
  | PermissionQuestion
  | { readonly kind: "elicitation"; readonly id: string; readonly asked: ElicitationEvent };

export interface TerminalState {
  /** The end of what was printed. */
  readonly output: string;
  readonly isCut: boolean;
  readonly exit: TerminalExitStatus | null;
}

export interface SessionState {
  readonly id: string;
  readonly cwd: string;
  readonly title: string;
  readonly isLoading: boolean;
  readonly items: readonly Item[];
  readonly nextKey: number;
  readonly plan: readonly PlanEntry[];
  readonly commands: readonly AvailableCommand[];
  readonly modes: SessionModeState | null;
  readonly options: readonly SessionConfigOption[];
  readonly usage: UsageUpdate | null;
  readonly isRunning: boolean;
  /** Milliseconds since 1970; 0 while nothing runs. */
  readonly startedAt: number;
  readonly queue: readonly QueuedPrompt[];
  readonly questions: readonly Question[];
  readonly terminals: Readonly<Record<string, TerminalState>>;
  readonly changes: readonly ChangedFile[];
  /** A prompt that could not be sent and goes back into the input; `number` tells news from old. */
  readonly restored: { readonly text: string; readonly number: number };
}

export interface ViewState {
  readonly connection: Omit<ConnectionEvent, "type">;
  readonly sessions: readonly SessionSummary[];
  readonly session: SessionState;
  readonly context: Omit<ContextEvent, "type">;
  readonly editor: Omit<EditorEvent, "type">;
  readonly isFollowing: boolean;
  readonly signIn: { readonly isNeeded: boolean; readonly message: string };
  readonly files: {
    readonly query: string;
    readonly paths: readonly { readonly path: string; readonly label: string }[];
  };
  readonly request: { readonly what: ViewRequest; readonly number: number };
  /** What a screen reader is told, politely. */
  readonly announcement: string;
}

export const EMPTY_SESSION: SessionState = {
  id: "",
  cwd: "",
  title: "",
  isLoading: false,
  items: [],
  nextKey: 0,
  plan: [],
  commands: [],
  modes: null,
  options: [],
  usage: null,
  isRunning: false,
  startedAt: 0,
  queue: [],
  questions: [],
  terminals: {},
  changes: [],
  restored: { text: "", number: 0 },
};

export const EMPTY_VIEW: ViewState = {
  connection: {
    status: "starting",
    agent: "",
    message: "",
    signInWays: [],
    can: { images: false, steer: false, list: false, load: false, delete: false, fork: false },
  },
  sessions: [],
  session: EMPTY_SESSION,
  context: { status: "unknown", message: "", instructions: [], skills: [] },
  editor: { file: "", label: "", firstLine: 0, lastLine: 0, problems: 0 },
  isFollowing: false,
  signIn: { isNeeded: false, message: "" },
  files: { query: "", paths: [] },
  request: { what: "focusInput", number: 0 },
  announcement: "",
};

/** Return a call of which nothing but its id is known. */
export function emptyCall(id: string): Call {
  return {
    id,
    title: "",
    name: "",
    kind: "other",
    status: "pending",
    content: [],
    locations: [],
    rawInput: undefined,
    rawOutput: undefined,
    parentId: "",
    instructions: [],
    decision: "",
    isCancelled: false,
  };
}
