/**
 * What the user wants, as the view tells it to the host.
 *
 * Owns the other direction of the messages and their checking: what a webview posts is data, and is
 * taken only if it has the shape of an intent.
 */
import type { ElicitationContentValue } from "@agentclientprotocol/sdk";
import type { Manner } from "./events.js";

export interface PastedImage {
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

export interface Draft {
  readonly text: string;
  readonly images: readonly PastedImage[];
  /** Absolute paths of files that are mentioned with an @. */
  readonly files: readonly string[];
  readonly withSelection: boolean;
  readonly withFile: boolean;
  readonly withProblems: boolean;
}

export type FormContent = Readonly<Record<string, ElicitationContentValue>>;

export type Intent =
  | { readonly type: "ready" }
  | { readonly type: "send"; readonly draft: Draft; readonly manner: Manner }
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
  | { readonly type: "signIn"; readonly wayId: string }
  | { readonly type: "refreshContext" }
  | { readonly type: "follow"; readonly isOn: boolean }
  | { readonly type: "manageTrust" }
  | { readonly type: "openFolder" }
  | { readonly type: "restart" }
  | { readonly type: "showLog" }
  | { readonly type: "openSettings" };

type Field = (value: unknown) => boolean;

const text: Field = (value) => typeof value === "string";
const count: Field = (value) => typeof value === "number" && Number.isFinite(value);
const flag: Field = (value) => typeof value === "boolean";
const manner: Field = (value) => value === "turn" || value === "steer" || value === "queue";
const listOf =
  (item: Field): Field =>
  (value) =>
    Array.isArray(value) && value.every(item);
const shape =
  (fields: Readonly<Record<string, Field>>): Field =>
  (value) =>
    isRecord(value) && Object.entries(fields).every(([name, fits]) => fits(value[name]));

const draft = shape({
  text,
  images: listOf(shape({ mimeType: text, data: text })),
  files: listOf(text),
  withSelection: flag,
  withFile: flag,
  withProblems: flag,
});
const formValue: Field = (value) =>
  text(value) || count(value) || flag(value) || listOf(text)(value);
const formContent: Field = (value) => isRecord(value) && Object.values(value).every(formValue);

const FIELDS: Readonly<Record<Intent["type"], Readonly<Record<string, Field>>>> = {
  ready: {},
  send: { draft, manner },
  stop: {},
  unqueue: { id: text },
  newSession: {},
  openSession: { id: text },
  forkSession: { id: text },
  renameSession: { id: text, title: text },
  deleteSession: { id: text },
  listSessions: {},
  permit: { questionId: text, optionId: text },
  fillIn: { questionId: text, content: formContent },
  decline: { questionId: text },
  openUrl: { questionId: text },
  setMode: { modeId: text },
  setOption: { optionId: text, value: (value) => text(value) || flag(value) },
  openFile: { path: text, line: count },
  openLink: { href: text },
  openDiff: { callId: text, path: text },
  openChange: { path: text },
  keep: { path: text, hunkId: text },
  revert: { path: text, hunkId: text },
  keepAll: {},
  revertAll: {},
  showTerminal: { id: text },
  stopTerminal: { id: text },
  findFiles: { query: text },
  signIn: { wayId: text },
  refreshContext: {},
  follow: { isOn: flag },
  manageTrust: {},
  openFolder: {},
  restart: {},
  showLog: {},
  openSettings: {},
};

/** Whether a value is an object whose fields can be looked at. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether what was posted is an intent, every field of it. */
export function isIntent(value: unknown): value is Intent {
  if (!isRecord(value) || typeof value["type"] !== "string") return false;
  if (!Object.hasOwn(FIELDS, value["type"])) return false;
  return shape(FIELDS[value["type"] as Intent["type"]])(value);
}
