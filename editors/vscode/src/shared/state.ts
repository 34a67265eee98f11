/** State of the view, and its initial values. The transitions are in `reducer`. */
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
  BusyMode,
  MentionChoice,
  PartsEvent,
  QueuedPrompt,
  SessionSummary,
  ViewRequest,
} from "./events.js";

/** A message or thought of a sub-agent. */
export interface NestedText {
  readonly kind: "agent" | "thought";
  readonly messageId: string;
  readonly text: string;
}

/** Current state of a tool call. */
export interface ToolCallState {
  readonly id: string;
  readonly title: string;
  readonly name: string;
  readonly kind: ToolKind;
  readonly status: ToolCallStatus;
  readonly content: readonly ToolCallContent[];
  readonly locations: readonly ToolCallLocation[];
  readonly rawInput: unknown;
  readonly rawOutput: unknown;
  /** Id of the call that this one belongs to; empty for a top-level call. */
  readonly parentId: string;
  /** What the sub-agents that it runs have written, in order. */
  readonly texts: readonly NestedText[];
  /** Instruction files that were loaded with its result. */
  readonly instructions: readonly string[];
  /** Which parts of its change the user rejected. */
  readonly parts: Pick<PartsEvent, "total" | "rejected">;
  /** The user's answer to the permission request, as a participle; empty if there was none. */
  readonly decision: string;
  /** Whether the user said no to it. */
  readonly isRejected: boolean;
  readonly isCancelled: boolean;
}

/** One entry of the transcript. `key` is stable for the entry's lifetime. */
export type TranscriptItem =
  | {
      readonly kind: "user";
      readonly key: string;
      readonly messageId: string;
      readonly blocks: readonly ContentBlock[];
      readonly busyMode: BusyMode;
      /** Id of the prompt that the extension sent; empty for a replayed one. */
      readonly promptId: string;
      /** Names the state before the prompt; empty if it cannot be restored. */
      readonly checkpoint: string;
      /** Shown by the extension before the agent echoed it. */
      readonly isLocalEcho: boolean;
    }
  | { readonly kind: "agent"; readonly key: string; readonly messageId: string; readonly text: string }
  | { readonly kind: "thought"; readonly key: string; readonly messageId: string; readonly text: string }
  | { readonly kind: "media"; readonly key: string; readonly block: ContentBlock }
  | { readonly kind: "call"; readonly key: string; readonly call: ToolCallState }
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
  /** The user's answer to an elicitation. */
  | {
      readonly kind: "answer";
      readonly key: string;
      readonly message: string;
      readonly outcome: string;
      readonly answers: readonly { readonly label: string; readonly value: string }[];
    }
  /** A plan that a turn left unfinished. */
  | { readonly kind: "plan"; readonly key: string; readonly entries: readonly PlanEntry[] }
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
  | { readonly kind: "elicitation"; readonly id: string; readonly request: ElicitationEvent };

export interface TerminalState {
  /** The end of the output. */
  readonly output: string;
  readonly isTruncated: boolean;
  readonly exit: TerminalExitStatus | null;
}

export interface SessionState {
  readonly id: string;
  readonly cwd: string;
  readonly title: string;
  readonly isLoading: boolean;
  readonly items: readonly TranscriptItem[];
  readonly nextKey: number;
  readonly plan: readonly PlanEntry[];
  readonly commands: readonly AvailableCommand[];
  readonly modes: SessionModeState | null;
  readonly options: readonly SessionConfigOption[];
  readonly usage: UsageUpdate | null;
  readonly isRunning: boolean;
  /** Milliseconds since the Unix epoch; 0 while no turn runs. */
  readonly startedAt: number;
  readonly queue: readonly QueuedPrompt[];
  readonly questions: readonly Question[];
  readonly terminals: Readonly<Record<string, TerminalState>>;
  readonly changes: readonly ChangedFile[];
  /** A prompt that could not be sent and returns to the input; `number` increases with each one. */
  readonly returnedPrompt: { readonly text: string; readonly number: number };
}

export interface ViewState {
  readonly connection: Omit<ConnectionEvent, "type">;
  readonly sessions: readonly SessionSummary[];
  readonly session: SessionState;
  readonly context: Omit<ContextEvent, "type">;
  readonly editor: Omit<EditorEvent, "type">;
  readonly isFollowing: boolean;
  readonly signIn: { readonly isNeeded: boolean; readonly message: string };
  readonly mentions: { readonly query: string; readonly choices: readonly MentionChoice[] };
  readonly attached: { readonly choices: readonly MentionChoice[]; readonly number: number };
  readonly request: { readonly action: ViewRequest; readonly number: number };
  /** Text for the polite live region (screen readers). */
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
  returnedPrompt: { text: "", number: 0 },
};

export const EMPTY_VIEW: ViewState = {
  connection: {
    status: "starting",
    agentId: "",
    agent: "",
    message: "",
    signInMethods: [],
    canStoreKey: false,
    features: { images: false, steer: false, list: false, load: false, delete: false, fork: false, restore: false },
  },
  sessions: [],
  session: EMPTY_SESSION,
  context: { status: "unknown", message: "", instructions: [], skills: [] },
  editor: { file: "", label: "", isInWorkspace: false, firstLine: 0, lastLine: 0, problems: 0 },
  isFollowing: false,
  signIn: { isNeeded: false, message: "" },
  mentions: { query: "", choices: [] },
  attached: { choices: [], number: 0 },
  request: { action: "focusInput", number: 0 },
  announcement: "",
};

export const NO_PARTS: ToolCallState["parts"] = { total: 0, rejected: [] };

/** Return a tool call with only its id known. */
export function emptyCall(id: string): ToolCallState {
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
    texts: [],
    instructions: [],
    parts: NO_PARTS,
    decision: "",
    isRejected: false,
    isCancelled: false,
  };
}
