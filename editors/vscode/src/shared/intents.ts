/**
 * Messages from the view to the host: the user's intents.
 *
 * Messages from a webview are untrusted data, so each is validated completely before it is handled.
 */
import type { BusyMode, FormContent, Mention } from "./events.js";
import { hasShape, isFlag, isListOf, isMention, isNumber, isOneOf, isRecord, isText, type FieldCheck } from "./validation.js";

export type { FormContent } from "./events.js";

export interface PastedImage {
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

export interface Draft {
  readonly text: string;
  readonly images: readonly PastedImage[];
  readonly mentions: readonly Mention[];
  readonly withSelection: boolean;
  readonly withFile: boolean;
  readonly withProblems: boolean;
}

/** What a restore affects. */
export type RestoreScope = "files" | "conversation" | "both";

export type Intent =
  /** The page is ready; it knows the session that it showed before a reload, empty for none. */
  | { readonly type: "ready"; readonly session: string }
  | { readonly type: "send"; readonly draft: Draft; readonly busyMode: BusyMode }
  | { readonly type: "stop" }
  | { readonly type: "unqueue"; readonly id: string }
  /** Restore the state before a prompt; with a text, it returns to the input, or is sent again. */
  | {
      readonly type: "restore";
      readonly checkpoint: string;
      readonly scope: RestoreScope;
      readonly text: string;
      readonly isSentAgain: boolean;
    }
  | { readonly type: "copyText"; readonly text: string }
  | { readonly type: "newSession" }
  /** Choose the agent of a new session. */
  | { readonly type: "switchAgent" }
  | { readonly type: "openSession"; readonly id: string }
  | { readonly type: "forkSession"; readonly id: string }
  | { readonly type: "renameSession"; readonly id: string; readonly title: string }
  | { readonly type: "deleteSession"; readonly id: string }
  | { readonly type: "archiveSession"; readonly id: string; readonly isArchived: boolean }
  /** Show a session in an editor tab. */
  | { readonly type: "openInTab"; readonly id: string }
  | { readonly type: "listSessions" }
  /** Answer a permission request; the reason, if any, is sent to the agent with the answer. */
  | { readonly type: "permit"; readonly questionId: string; readonly optionId: string; readonly reason: string }
  | { readonly type: "fillIn"; readonly questionId: string; readonly content: FormContent }
  | { readonly type: "decline"; readonly questionId: string }
  | { readonly type: "openUrl"; readonly questionId: string }
  | { readonly type: "setMode"; readonly modeId: string }
  | { readonly type: "setOption"; readonly optionId: string; readonly value: string | boolean }
  | { readonly type: "openFile"; readonly path: string; readonly line: number }
  | { readonly type: "openLink"; readonly href: string }
  | { readonly type: "openDiff"; readonly callId: string; readonly path: string }
  | { readonly type: "openChange"; readonly path: string }
  | { readonly type: "keep"; readonly path: string; readonly hunkId: string }
  | { readonly type: "revert"; readonly path: string; readonly hunkId: string }
  | { readonly type: "keepAll" }
  | { readonly type: "revertAll" }
  | { readonly type: "showTerminal"; readonly id: string }
  | { readonly type: "stopTerminal"; readonly id: string }
  | { readonly type: "findMentions"; readonly query: string }
  | { readonly type: "attachFiles" }
  | { readonly type: "attachUris"; readonly uris: readonly string[] }
  | { readonly type: "loadScript"; readonly name: "diagrams" | "math" }
  | { readonly type: "installServer" }
  | { readonly type: "tryDemo" }
  | { readonly type: "enterKey" }
  | { readonly type: "signIn"; readonly methodId: string }
  | { readonly type: "refreshContext" }
  | { readonly type: "follow"; readonly isOn: boolean }
  | { readonly type: "manageTrust" }
  | { readonly type: "openFolder" }
  | { readonly type: "restart" }
  | { readonly type: "showLog" }
  /** `reason`: why the agent could not be started; empty if it was not found. */
  | { readonly type: "openSettings"; readonly reason: string };

const isBusyMode = isOneOf("turn", "steer", "queue");
const isDraft = hasShape({
  text: isText,
  images: isListOf(hasShape({ mimeType: isText, data: isText })),
  mentions: isListOf(isMention),
  withSelection: isFlag,
  withFile: isFlag,
  withProblems: isFlag,
});
const isFormValue: FieldCheck = (value) =>
  isText(value) || isNumber(value) || isFlag(value) || isListOf(isText)(value);
const isFormContent: FieldCheck = (value) => isRecord(value) && Object.values(value).every(isFormValue);

const FIELDS: Readonly<Record<Intent["type"], Readonly<Record<string, FieldCheck>>>> = {
  ready: { session: isText },
  send: { draft: isDraft, busyMode: isBusyMode },
  stop: {},
  unqueue: { id: isText },
  restore: {
    checkpoint: isText,
    scope: isOneOf("files", "conversation", "both"),
    text: isText,
    isSentAgain: isFlag,
  },
  copyText: { text: isText },
  newSession: {},
  switchAgent: {},
  openSession: { id: isText },
  forkSession: { id: isText },
  renameSession: { id: isText, title: isText },
  deleteSession: { id: isText },
  archiveSession: { id: isText, isArchived: isFlag },
  openInTab: { id: isText },
  listSessions: {},
  permit: { questionId: isText, optionId: isText, reason: isText },
  fillIn: { questionId: isText, content: isFormContent },
  decline: { questionId: isText },
  openUrl: { questionId: isText },
  setMode: { modeId: isText },
  setOption: { optionId: isText, value: (value) => isText(value) || isFlag(value) },
  openFile: { path: isText, line: isNumber },
  openLink: { href: isText },
  openDiff: { callId: isText, path: isText },
  openChange: { path: isText },
  keep: { path: isText, hunkId: isText },
  revert: { path: isText, hunkId: isText },
  keepAll: {},
  revertAll: {},
  showTerminal: { id: isText },
  stopTerminal: { id: isText },
  findMentions: { query: isText },
  attachFiles: {},
  attachUris: { uris: isListOf(isText) },
  loadScript: { name: isOneOf("diagrams", "math") },
  installServer: {},
  tryDemo: {},
  enterKey: {},
  signIn: { methodId: isText },
  refreshContext: {},
  follow: { isOn: isFlag },
  manageTrust: {},
  openFolder: {},
  restart: {},
  showLog: {},
  openSettings: { reason: isText },
};

/** Whether a posted value is an intent with valid fields. */
export function isIntent(value: unknown): value is Intent {
  if (!isRecord(value) || typeof value["type"] !== "string") return false;
  if (!Object.hasOwn(FIELDS, value["type"])) return false;
  return hasShape(FIELDS[value["type"] as Intent["type"]])(value);
}
