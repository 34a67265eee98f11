/**
 * What the view is told, as a closed union.
 *
 * Owns the words between host and view, one direction. A view is nothing but the fold of these, so
 * a reload that replays them restores all. Refuses to know how they travel or how they look.
 */
import type {
  ContentBlock,
  ElicitationSchema,
  PermissionOption,
  SessionConfigOption,
  SessionModeState,
  SessionUpdate,
  TerminalExitStatus,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import type { Hunk } from "./hunks.js";

export type ConnectionStatus =
  | "untrusted"
  | "noFolder"
  | "missing"
  | "starting"
  | "ready"
  | "restarting"
  | "failed";

/** A way to sign in; one in a terminal is run by us, any other by the agent. */
export interface SignInWay {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly isTerminal: boolean;
}

export interface ConnectionEvent {
  readonly type: "connection";
  readonly status: ConnectionStatus;
  readonly agent: string;
  /** Why it is not ready, in one sentence; empty where nothing is to be said. */
  readonly message: string;
  readonly signInWays: readonly SignInWay[];
  readonly can: AgentAbilities;
}

/** What the agent has said that it can do, as far as the view shows it. */
export interface AgentAbilities {
  readonly images: boolean;
  readonly steer: boolean;
  readonly list: boolean;
  readonly load: boolean;
  readonly delete: boolean;
  readonly fork: boolean;
}

export interface SessionSummary {
  readonly id: string;
  readonly title: string;
  readonly cwd: string;
  /** ISO 8601; empty where the agent does not say. */
  readonly updatedAt: string;
  readonly isRunning: boolean;
}

/** How a prompt goes in: a turn of its own, part of the one that runs, or behind it. */
export type Manner = "turn" | "steer" | "queue";

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

export interface Instruction {
  readonly path: string;
  readonly outcome: string;
  readonly reason: string;
}

export interface SkillInForce {
  readonly name: string;
  readonly description: string;
  readonly from: string;
}

export interface ContextEvent {
  readonly type: "context";
  readonly status: "loading" | "known" | "unknown";
  readonly message: string;
  readonly instructions: readonly Instruction[];
  readonly skills: readonly SkillInForce[];
}

/** What the user looks at, offered as context of the next prompt. */
export interface EditorEvent {
  readonly type: "editor";
  readonly file: string;
  readonly label: string;
  /** The selected lines, from 1; both 0 where nothing is selected. */
  readonly firstLine: number;
  readonly lastLine: number;
  readonly problems: number;
}

/** What belongs to the window, not to one session: only the last of each type counts. */
export type FrameEvent =
  | ConnectionEvent
  | ContextEvent
  | EditorEvent
  | { readonly type: "sessions"; readonly sessions: readonly SessionSummary[] }
  | { readonly type: "follow"; readonly isOn: boolean }
  | { readonly type: "signIn"; readonly isNeeded: boolean; readonly message: string }
  | {
      readonly type: "files";
      readonly query: string;
      readonly paths: readonly { readonly path: string; readonly label: string }[];
    }
  /** Something that the view shall do once; `number` tells one from the next. */
  | { readonly type: "request"; readonly what: ViewRequest; readonly number: number };

export type ViewRequest = "focusInput" | "showSessions" | "showContext";

export type Outcome =
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
  /** Where the user is to go instead of filling in a form; empty for a form. */
  readonly url: string;
}

/** What belongs to one session and is kept in its log. */
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
      readonly manner: Manner;
    }
  | { readonly type: "queue"; readonly prompts: readonly QueuedPrompt[] }
  | { readonly type: "running"; readonly startedAt: number }
  | { readonly type: "ended"; readonly reason: string; readonly error: string }
  | { readonly type: "restore"; readonly text: string; readonly number: number }
  | PermissionEvent
  | ElicitationEvent
  | { readonly type: "answered"; readonly questionId: string; readonly outcome: Outcome }
  | { readonly type: "terminal"; readonly id: string; readonly data: string; readonly isCut: boolean }
  | { readonly type: "terminalEnded"; readonly id: string; readonly exit: TerminalExitStatus }
  | { readonly type: "changes"; readonly files: readonly ChangedFile[] };

export type ViewEvent = FrameEvent | SessionEvent;

/** What the host posts: everything anew, or what has come since. */
export type HostMessage =
  | { readonly kind: "replay"; readonly events: readonly ViewEvent[] }
  | { readonly kind: "events"; readonly events: readonly ViewEvent[] };
