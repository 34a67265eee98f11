/**
 * Reducer of the view's state.
 *
 * Handles all events except `session/update`, which is in `sessionUpdates`. Pure: no clock and no
 * counters outside the state, so that a replayed log gives the same view.
 */
import type { ElicitationPropertySchema, ElicitationSchema, PermissionOptionKind, PlanEntry } from "@agentclientprotocol/sdk";
import type {
  ElicitationEvent,
  FormContent,
  WindowEvent,
  PermissionEvent,
  SessionEvent,
  ViewEvent,
} from "./events.js";
import { choicesOf } from "./formChoices.js";
import { EMPTY_SESSION, type TranscriptItem, type Question, type SessionState, type ViewState } from "./state.js";
import { NEW_TERMINAL, withOutput } from "./terminalOutput.js";
import { withCall, withCallChanged, withItem, withOptions, withUpdate } from "./sessionUpdates.js";
import { t } from "./l10n.js";

const WINDOW_EVENT_TYPES: ReadonlySet<string> = new Set<WindowEvent["type"]>([
  "connection",
  "context",
  "editor",
  "sessions",
  "follow",
  "signIn",
  "mentions",
  "attach",
  "request",
]);

/** Whether an event is of the window rather than of one session. */
export function isWindowEvent(event: ViewEvent): event is WindowEvent {
  return WINDOW_EVENT_TYPES.has(event.type);
}

/** Return the view after an event. */
export function reduce(state: ViewState, event: ViewEvent): ViewState {
  if (isWindowEvent(event)) return withWindowEvent(state, event);
  const session = withSessionEvent(state.session, event);
  if (session === state.session) return state;
  return { ...state, session, announcement: announcementFor(event) ?? state.announcement };
}

/** Return the view after events, in order. */
export function reduceAll(state: ViewState, events: readonly ViewEvent[]): ViewState {
  return events.reduce(reduce, state);
}

function withWindowEvent(state: ViewState, event: WindowEvent): ViewState {
  switch (event.type) {
    case "connection":
      return { ...state, connection: event };
    case "context":
      return { ...state, context: event };
    case "editor":
      return { ...state, editor: event };
    case "sessions":
      return { ...state, sessions: event.sessions };
    case "follow":
      return { ...state, isFollowing: event.isOn };
    case "signIn":
      return { ...state, signIn: event };
    case "mentions":
      return { ...state, mentions: event };
    case "attach":
      return { ...state, attached: event };
    case "request":
      return { ...state, request: event };
  }
}

type AnsweredEvent = Extract<SessionEvent, { type: "answered" }>;

function withSessionEvent(session: SessionState, event: SessionEvent): SessionState {
  switch (event.type) {
    case "session":
      return withSessionOpened(session, event);
    case "choices":
      return withOptions({ ...session, modes: event.modes }, event.options);
    case "title":
      return { ...session, title: event.title };
    case "update":
      return withUpdate(session, event.update);
    case "prompted": {
      const { id: promptId, blocks, busyMode } = event;
      const sent = { messageId: "", blocks, busyMode, promptId, checkpoint: "", isLocalEcho: true };
      return withItem(session, { kind: "user", ...sent });
    }
    case "checkpoint":
      return withCheckpoint(session, event.promptId, event.checkpoint);
    case "rewound":
      return withRewind(session, event.checkpoint);
    case "queue":
      return { ...session, queue: event.prompts };
    case "running":
      return { ...session, isRunning: true, startedAt: event.startedAt, plan: session.plan.every(isDone) ? [] : session.plan };
    case "ended":
      return withTurnEnded(session, event.reason, event.error);
    case "restore":
      return { ...session, returnedPrompt: event };
    case "permission":
      return withPermission(session, event);
    case "elicitation":
      return withQuestion(session, elicitationQuestion(event));
    case "parts":
      return withCallChanged(session, event.callId, (call) => ({ ...call, parts: event }));
    case "answered":
      return withAnswer(session, event);
    case "terminal":
      return withTerminal(session, event.id, (terminal) =>
        withOutput(terminal, event.data, event.isTruncated),
      );
    case "terminalEnded":
      return withTerminal(session, event.id, (terminal) => ({ ...terminal, exit: event.exit }));
    case "changes":
      return { ...session, changes: event.files };
  }
}

function withCheckpoint(session: SessionState, promptId: string, checkpoint: string): SessionState {
  const items = session.items.map((item) =>
    item.kind === "user" && item.promptId === promptId ? { ...item, checkpoint } : item,
  );
  return { ...session, items };
}

/** Return the session without the prompt of a checkpoint and all after it. */
function withRewind(session: SessionState, checkpoint: string): SessionState {
  const index = session.items.findLastIndex((item) => item.kind === "user" && item.checkpoint === checkpoint);
  return index < 0 ? session : { ...session, items: session.items.slice(0, index), plan: [] };
}

function withSessionOpened(
  session: SessionState,
  event: Extract<SessionEvent, { type: "session" }>,
): SessionState {
  const { id, cwd, title, isLoading } = event;
  const isSame = id === session.id && !isLoading;
  return { ...(isSame ? session : EMPTY_SESSION), id, cwd, title: title || session.title, isLoading };
}

function withPermission(session: SessionState, event: PermissionEvent): SessionState {
  const { questionId: id, call, options } = event;
  const withIt = withCall(session, call);
  const item = withIt.items.findLast(
    (each) => each.kind === "call" && each.call.id === call.toolCallId,
  );
  const title = item?.kind === "call" ? item.call.title : "";
  return withQuestion(withIt, { kind: "permission", id, callId: call.toolCallId, title, options });
}

function elicitationQuestion(event: ElicitationEvent): Question {
  return { kind: "elicitation", id: event.questionId, request: event };
}

function withQuestion(session: SessionState, question: Question): SessionState {
  return { ...session, questions: [...session.questions, question] };
}

function withAnswer(session: SessionState, { questionId: id, outcome, content }: AnsweredEvent): SessionState {
  const question = session.questions.find((each) => each.id === id);
  const questions = session.questions.filter((each) => each.id !== id);
  const answered = { ...session, questions };
  if (question === undefined) return answered;
  if (question.kind === "permission") {
    const kind = outcome.outcome === "selected" ? question.options.find(({ optionId }) => optionId === outcome.optionId)?.kind : undefined;
    const isRejected = kind?.startsWith("reject_") === true;
    return withCallChanged(answered, question.callId, (call) => {
      const { total, rejected } = call.parts;
      const isPartly = kind !== undefined && !isRejected && rejected.length > 0;
      const whole = kind === undefined ? t("Cancelled") : DECISIONS[kind];
      return { ...call, isRejected, decision: isPartly ? t("Allowed {0} of {1} parts", total - rejected.length, total) : whole };
    });
  }
  const decision = outcome.outcome === "selected" ? outcome.name : t("Cancelled");
  const { message, form } = question.request;
  const answers = answersOf(form, content ?? {});
  return withItem(answered, { kind: "answer", message, outcome: decision, answers });
}

/** What a call says about the answer once it is given: the name of the option asks for it. */
const DECISIONS: Readonly<Record<PermissionOptionKind, string>> = {
  allow_once: t("Allowed"),
  allow_always: t("Allowed from now on"),
  reject_once: t("Rejected"),
  reject_always: t("Rejected from now on"),
};

/** Return the submitted values with the titles of their fields and choices. */
function answersOf(form: ElicitationSchema | null, content: FormContent): { label: string; value: string }[] {
  return Object.entries(content).map(([name, value]) => {
    const schema = form?.properties?.[name];
    const label = typeof schema?.title === "string" ? schema.title : name;
    const values = Array.isArray(value) ? value : [value];
    return { label, value: values.map((each) => titleOf(schema, each)).join(", ") };
  });
}

function titleOf(schema: ElicitationPropertySchema | undefined, value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? t("Yes") : t("No");
  const titled = schema === undefined ? undefined : choicesOf(schema)?.find((choice) => choice.value === String(value));
  return titled?.title ?? String(value);
}

function withTerminal(
  session: SessionState,
  id: string,
  change: (terminal: SessionState["terminals"][string]) => SessionState["terminals"][string],
): SessionState {
  const terminal = change(session.terminals[id] ?? NEW_TERMINAL);
  return { ...session, terminals: { ...session.terminals, [id]: terminal } };
}

/** Return the session after its turn ended; unfinished tool calls become failed. */
function withTurnEnded(session: SessionState, reason: string, error: string): SessionState {
  const items = session.items.map((item) => finishedCall(item, reason === "cancelled"));
  const idle = withPlanLeft({ ...session, items, isRunning: false, startedAt: 0, questions: [] });
  if ((reason === "end_turn" || reason === "auth_required") && error === "") return idle;
  return withItem(idle, { kind: "ending", reason, error });
}

/** Return the session with its plan as an entry, if the plan is unfinished and is not one already. */
function withPlanLeft(session: SessionState): SessionState {
  const { plan: entries, items } = session;
  const isShown = items.some((item) => item.kind === "plan" && item.entries === entries);
  return entries.every(isDone) || isShown ? session : withItem(session, { kind: "plan", entries });
}

function isDone({ status }: PlanEntry): boolean {
  return status === "completed";
}

function finishedCall(item: TranscriptItem, isCancelled: boolean): TranscriptItem {
  if (item.kind !== "call") return item;
  const { status } = item.call;
  if (status === "completed" || status === "failed") return item;
  return { ...item, call: { ...item.call, status: "failed", isCancelled } };
}

function announcementFor(event: SessionEvent): string | undefined {
  switch (event.type) {
    case "answered":
      return "";
    case "permission":
      return t("The agent asks for permission: {0}", event.call.title ?? t("a call"));
    case "elicitation":
      return t("The agent asks: {0}", event.message);
    case "running":
      return t("The agent is working");
    case "ended":
      return event.error === "" ? TURN_END_ANNOUNCEMENTS[event.reason] ?? t("The agent has finished") : event.error;
    default:
      return undefined;
  }
}

const TURN_END_ANNOUNCEMENTS: Readonly<Record<string, string>> = {
  cancelled: t("Stopped"),
  cut: t("Stopped: the connection to the agent was lost"),
  refusal: t("The agent refused to continue"),
  max_tokens: t("The answer was cut off at the length limit"),
  max_turn_requests: t("The turn stopped at the step limit"),
};
