/**
 * Messages from the host to the view.
 *
 * The view's state is exactly the reduction of these events, so replaying them restores the view after
 * a reload. Messages from the view to the host are in `intents`.
 */
import type {
  ContentBlock,
  ElicitationContentValue,
  ElicitationSchema,
  PermissionOption,
  SessionConfigOption,
  SessionModeState,
  SessionUpdate,
  TerminalExitStatus,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import type { LineChange } from "./diff.js";
import type { Hunk } from "./hunks.js";

export type ConnectionStatus =
  | "untrusted"
  | "noFolder"
  | "missing"
  | "starting"
  | "ready"
  | "restarting"
  | "failed";

/** An authentication method. Terminal methods are run by the extension, all others by the agent. */
export interface SignInMethod {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly isTerminal: boolean;
}

/** The connection of the agent whose session a view shows. */
export interface ConnectionEvent {
  readonly type: "connection";
  readonly status: ConnectionStatus;
  /** Empty for the own server. */
  readonly agentId: string;
  readonly agent: string;
  /** Why the agent is not ready, in one sentence; may be empty. */
  readonly message: string;
  readonly signInMethods: readonly SignInMethod[];
  /** Whether the server stores an API key that the user enters in VS Code. */
  readonly canStoreKey: boolean;
  readonly features: AgentFeatures;
}

/** Features that the agent announced, as far as the view uses them. */
export interface AgentFeatures {
  readonly images: boolean;
  readonly steer: boolean;
  readonly list: boolean;
  readonly load: boolean;
  readonly delete: boolean;
  readonly fork: boolean;
  /** Whether a session can be restored to the state before a prompt. */
  readonly restore: boolean;
}

export interface SessionSummary {
  readonly id: string;
  readonly title: string;
  readonly cwd: string;
  /** ISO 8601; empty if the agent does not report it. */
  readonly updatedAt: string;
  readonly isRunning: boolean;
  /** Number of its unanswered questions. */
  readonly openQuestions: number;
  /** Whether the user has put it away: the list shows it only on request. */
  readonly isArchived: boolean;
  /** Name of its agent. */
  readonly agent: string;
  /** What its agent can do with it; nothing before the agent runs. */
  readonly canFork: boolean;
  readonly canDelete: boolean;
}

/** How a prompt is delivered: as its own turn, into the running turn, or queued after it. */
export type BusyMode = "turn" | "steer" | "queue";

export interface QueuedPrompt {
  readonly id: string;
  readonly text: string;
}

export interface ChangedFile {
  readonly path: string;
  readonly label: string;
  readonly kind: "added" | "changed" | "deleted";
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly Hunk[];
}

export interface InstructionFile {
  readonly path: string;
  readonly outcome: string;
  readonly reason: string;
}

export interface ActiveSkill {
  readonly name: string;
  readonly description: string;
  readonly from: string;
}

export interface ContextEvent {
  readonly type: "context";
  readonly status: "loading" | "known" | "unknown";
  readonly message: string;
  readonly instructions: readonly InstructionFile[];
  readonly skills: readonly ActiveSkill[];
}

/** The active editor, offered as context for the next prompt. */
export interface EditorEvent {
  readonly type: "editor";
  readonly file: string;
  readonly label: string;
  /** Whether the file is in a workspace folder. Others are attached only on request: reading them asks. */
  readonly isInWorkspace: boolean;
  /** The selected lines, from 1; both 0 without a selection. */
  readonly firstLine: number;
  readonly lastLine: number;
  readonly problems: number;
}

export type MentionKind = "file" | "folder" | "symbol" | "problems" | "terminal";

/** Something that a prompt mentions with an @. */
export interface Mention {
  readonly kind: MentionKind;
  /** Absolute path; empty for problems and terminal output. */
  readonly path: string;
  /** The mentioned lines, from 1; both 0 for all. */
  readonly firstLine: number;
  readonly lastLine: number;
}

/** A mention that completes a text after an @. */
export interface MentionChoice {
  readonly mention: Mention;
  /** The text after the @. */
  readonly label: string;
  readonly detail: string;
}

/** Values of a filled-in form, by field name. */
export type FormContent = Readonly<Record<string, ElicitationContentValue>>;

/**
 * Event of the window or of the agent that a view shows, rather than of one session: only the last of each type
 * counts.
 */
export type WindowEvent =
  | ConnectionEvent
  | ContextEvent
  | EditorEvent
  | { readonly type: "sessions"; readonly sessions: readonly SessionSummary[] }
  | { readonly type: "follow"; readonly isOn: boolean }
  | { readonly type: "signIn"; readonly isNeeded: boolean; readonly message: string }
  | { readonly type: "mentions"; readonly query: string; readonly choices: readonly MentionChoice[] }
  /** Files to mention in the draft once, because the user attached them; `number` identifies the request. */
  | { readonly type: "attach"; readonly choices: readonly MentionChoice[]; readonly number: number }
  /** An action for the view to perform once; `number` identifies the request. */
  | { readonly type: "request"; readonly action: ViewRequest; readonly number: number };

export type ViewRequest = "focusInput" | "showSessions" | "showContext" | "focusQuestion";

export type QuestionOutcome =
  | { readonly outcome: "selected"; readonly optionId: string; readonly name: string }
  | { readonly outcome: "cancelled" };

export interface PermissionEvent {
  readonly type: "permission";
  readonly questionId: string;
  readonly call: ToolCallUpdate;
  readonly options: readonly PermissionOption[];
}

export interface ElicitationEvent {
  readonly type: "elicitation";
  readonly questionId: string;
  readonly callId: string;
  readonly message: string;
  readonly form: ElicitationSchema | null;
  /** The page to open instead of a form; empty for a form. */
  readonly url: string;
}

/** A rejected part of a proposed change: these lines of one of the call's diffs. */
export interface RejectedPart extends LineChange {
  /** Number of the diff, from 0; -1 if no diff has the part. */
  readonly diff: number;
}

/** The parts of a call's change, of which the user rejected some in the editor. */
export interface PartsEvent {
  readonly type: "parts";
  readonly callId: string;
  readonly total: number;
  readonly rejected: readonly RejectedPart[];
}

/** Event of one session, stored in its log. */
export type SessionEvent =
  | {
      readonly type: "session";
      readonly id: string;
      readonly cwd: string;
      readonly title: string;
      readonly isLoading: boolean;
    }
  | {
      readonly type: "choices";
      readonly modes: SessionModeState | null;
      readonly options: readonly SessionConfigOption[];
    }
  | { readonly type: "title"; readonly title: string }
  | { readonly type: "update"; readonly update: SessionUpdate }
  | {
      readonly type: "prompted";
      readonly id: string;
      readonly blocks: readonly ContentBlock[];
      readonly busyMode: BusyMode;
    }
  /** The checkpoint of a prompt that the extension sent: the state before it. */
  | { readonly type: "checkpoint"; readonly promptId: string; readonly checkpoint: string }
  /** The conversation was restored: the prompt with this checkpoint and all after it were removed. */
  | { readonly type: "rewound"; readonly checkpoint: string }
  | { readonly type: "queue"; readonly prompts: readonly QueuedPrompt[] }
  | { readonly type: "running"; readonly startedAt: number }
  | { readonly type: "ended"; readonly reason: string; readonly error: string }
  | { readonly type: "restore"; readonly text: string; readonly number: number }
  | PermissionEvent
  | ElicitationEvent
  | PartsEvent
  | {
      readonly type: "answered";
      readonly questionId: string;
      readonly outcome: QuestionOutcome;
      /** The submitted values of a form. */
      readonly content?: FormContent;
    }
  | { readonly type: "terminal"; readonly id: string; readonly data: string; readonly isTruncated: boolean }
  | { readonly type: "terminalEnded"; readonly id: string; readonly exit: TerminalExitStatus }
  | { readonly type: "changes"; readonly files: readonly ChangedFile[] };

export type ViewEvent = WindowEvent | SessionEvent;

/** Message from the host: a replay of the whole state, new events, or a script that the view asked for. */
export type HostMessage =
  | { readonly kind: "replay"; readonly events: readonly ViewEvent[] }
  | { readonly kind: "events"; readonly events: readonly ViewEvent[] }
  | { readonly kind: "script"; readonly name: string; readonly text: string };
