/**
 * Messages from the view to the host: the user's intents.
 *
 * Messages from a webview are untrusted data, so each is validated completely before it is handled.
 */
import type { ElicitationContentValue } from "@agentclientprotocol/sdk";
import type { BusyMode } from "./events.js";

export interface PastedImage {
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

export interface Draft {
  readonly text: string;
  readonly images: readonly PastedImage[];
  /** Absolute paths of the files mentioned with an @. */
  readonly files: readonly string[];
  readonly withSelection: boolean;
  readonly withFile: boolean;
  readonly withProblems: boolean;
}

export type FormContent = Readonly<Record<string, ElicitationContentValue>>;

export type Intent =
  | { readonly type: "ready" }
  | { readonly type: "send"; readonly draft: Draft; readonly busyMode: BusyMode }
  | { readonly type: "stop" }
  | { readonly type: "unqueue"; readonly id: string }
  | { readonly type: "newSession" }
  | { readonly type: "openSession"; readonly id: string }
  | { readonly type: "forkSession"; readonly id: string }
  | { readonly type: "renameSession"; readonly id: string; readonly title: string }
  | { readonly type: "deleteSession"; readonly id: string }
  | { readonly type: "listSessions" }
  | { readonly type: "permit"; readonly questionId: string; readonly optionId: string }
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
  | { readonly type: "findFiles"; readonly query: string }
  | { readonly type: "signIn"; readonly methodId: string }
  | { readonly type: "refreshContext" }
  | { readonly type: "follow"; readonly isOn: boolean }
  | { readonly type: "manageTrust" }
  | { readonly type: "openFolder" }
  | { readonly type: "restart" }
  | { readonly type: "showLog" }
  | { readonly type: "openSettings" };

type FieldCheck = (value: unknown) => boolean;

const isText: FieldCheck = (value) => typeof value === "string";
const isNumber: FieldCheck = (value) => typeof value === "number" && Number.isFinite(value);
const isFlag: FieldCheck = (value) => typeof value === "boolean";
const isBusyMode: FieldCheck = (value) => value === "turn" || value === "steer" || value === "queue";
const isListOf =
  (item: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) && value.every(item);
const hasShape =
  (fields: Readonly<Record<string, FieldCheck>>): FieldCheck =>
  (value) =>
    isRecord(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

const isDraft = hasShape({
  text: isText,
  images: isListOf(hasShape({ mimeType: isText, data: isText })),
  files: isListOf(isText),
  withSelection: isFlag,
  withFile: isFlag,
  withProblems: isFlag,
});
const isFormValue: FieldCheck = (value) =>
  isText(value) || isNumber(value) || isFlag(value) || isListOf(isText)(value);
const isFormContent: FieldCheck = (value) => isRecord(value) && Object.values(value).every(isFormValue);

const FIELDS: Readonly<Record<Intent["type"], Readonly<Record<string, FieldCheck>>>> = {
  ready: {},
  send: { draft: isDraft, busyMode: isBusyMode },
  stop: {},
  unqueue: { id: isText },
  newSession: {},
  openSession: { id: isText },
  forkSession: { id: isText },
  renameSession: { id: isText, title: isText },
  deleteSession: { id: isText },
  listSessions: {},
  permit: { questionId: isText, optionId: isText },
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
  findFiles: { query: isText },
  signIn: { methodId: isText },
  refreshContext: {},
  follow: { isOn: isFlag },
  manageTrust: {},
  openFolder: {},
  restart: {},
  showLog: {},
  openSettings: {},
};

/** Whether a value is a plain object (not null, not an array). */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a posted value is an intent with valid fields. */
export function isIntent(value: unknown): value is Intent {
  if (!isRecord(value) || typeof value["type"] !== "string") return false;
  if (!Object.hasOwn(FIELDS, value["type"])) return false;
  return hasShape(FIELDS[value["type"] as Intent["type"]])(value);
}
