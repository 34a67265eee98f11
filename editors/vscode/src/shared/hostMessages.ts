/**
 * Validation of messages from the host to the view.
 *
 * Checks every field that the view reads from our own events. The agent's parts (`update`, `call`, `form`)
 * are checked as far as the reducer depends on them; the SDK has validated them in the host.
 */
import type { HostMessage, ViewEvent } from "./events.js";
import { hasShape, isFlag, isListOf, isMention, isNullOr, isNumber, isOneOf, isRecord, isText, type FieldCheck } from "./validation.js";

const isDraftMention = hasShape({ mention: isMention, label: isText, detail: isText });
const isSummary = hasShape({
  id: isText,
  title: isText,
  cwd: isText,
  updatedAt: isText,
  isRunning: isFlag,
  openQuestions: isNumber,
  isArchived: isFlag,
  agent: isText,
  canFork: isFlag,
  canDelete: isFlag,
});
const isHunk = hasShape({
  id: isText,
  oldLine: isNumber,
  newLine: isNumber,
  removed: isListOf(isText),
  added: isListOf(isText),
});
const isChangedFile = hasShape({
  path: isText,
  label: isText,
  kind: isOneOf("added", "changed", "deleted"),
  added: isNumber,
  removed: isNumber,
  hunks: isListOf(isHunk),
});
const isBlock = hasShape({ type: isText });
const isOption = hasShape({ optionId: isText, name: isText, kind: isText });
const isSignInMethod = hasShape({ id: isText, name: isText, description: isText, isTerminal: isFlag });
const isFeatures = hasShape({
  images: isFlag,
  steer: isFlag,
  list: isFlag,
  load: isFlag,
  delete: isFlag,
  fork: isFlag,
  restore: isFlag,
});
const isExit: FieldCheck = isRecord;

const FIELDS: Readonly<Record<ViewEvent["type"], Readonly<Record<string, FieldCheck>>>> = {
  connection: {
    status: isOneOf("untrusted", "noFolder", "missing", "starting", "ready", "restarting", "failed"),
    agentId: isText,
    agent: isText,
    message: isText,
    signInMethods: isListOf(isSignInMethod),
    canStoreKey: isFlag,
    features: isFeatures,
  },
  context: {
    status: isOneOf("loading", "known", "unknown"),
    message: isText,
    instructions: isListOf(hasShape({ path: isText, outcome: isText, reason: isText })),
    skills: isListOf(hasShape({ name: isText, description: isText, from: isText })),
  },
  editor: {
    file: isText,
    label: isText,
    isInWorkspace: isFlag,
    firstLine: isNumber,
    lastLine: isNumber,
    problems: isNumber,
  },
  sessions: { sessions: isListOf(isSummary) },
  follow: { isOn: isFlag },
  signIn: { isNeeded: isFlag, message: isText },
  mentions: { query: isText, choices: isListOf(isDraftMention) },
  attach: { choices: isListOf(isDraftMention), number: isNumber },
  request: { action: isOneOf("focusInput", "showSessions", "showContext", "focusQuestion"), number: isNumber },
  session: { id: isText, cwd: isText, title: isText, isLoading: isFlag },
  choices: { modes: isNullOr(isRecord), options: isListOf(isRecord) },
  title: { title: isText },
  update: { update: hasShape({ sessionUpdate: isText }) },
  prompted: { id: isText, blocks: isListOf(isBlock), busyMode: isOneOf("turn", "steer", "queue") },
  checkpoint: { promptId: isText, checkpoint: isText },
  rewound: { checkpoint: isText },
  queue: { prompts: isListOf(hasShape({ id: isText, text: isText })) },
  running: { startedAt: isNumber },
  ended: { reason: isText, error: isText },
  restore: { text: isText, number: isNumber },
  permission: { questionId: isText, call: hasShape({ toolCallId: isText }), options: isListOf(isOption) },
  elicitation: { questionId: isText, callId: isText, message: isText, form: isNullOr(isRecord), url: isText },
  parts: {
    callId: isText,
    total: isNumber,
    rejected: isListOf(hasShape({ diff: isNumber, oldStart: isNumber, oldEnd: isNumber, newStart: isNumber, newEnd: isNumber })),
  },
  answered: { questionId: isText, outcome: hasShape({ outcome: isText }) },
  terminal: { id: isText, data: isText, isTruncated: isFlag },
  terminalEnded: { id: isText, exit: isExit },
  changes: { files: isListOf(isChangedFile) },
};

/** Whether a value is an event that the view can reduce. */
export function isViewEvent(value: unknown): value is ViewEvent {
  if (!isRecord(value) || typeof value["type"] !== "string") return false;
  if (!Object.hasOwn(FIELDS, value["type"])) return false;
  return hasShape(FIELDS[value["type"] as ViewEvent["type"]])(value);
}

/** Return a posted value as a message from the host, without its invalid events; null if it is none. */
export function hostMessageOf(value: unknown): HostMessage | null {
  if (!isRecord(value)) return null;
  const { kind, name, text, events } = value;
  if (kind === "script" && typeof name === "string" && typeof text === "string") return { kind, name, text };
  if ((kind !== "replay" && kind !== "events") || !Array.isArray(events)) return null;
  return { kind, events: (events as unknown[]).filter(isViewEvent) };
}
