/**
 * The fold: what the view shows after an event.
 *
 * Owns the step from one state to the next for everything that is not the agent's own update. Pure:
 * no clock, no counters but those in the state, so that a log replayed gives the same view again.
 */
import type {
  ElicitationEvent,
  FrameEvent,
  Outcome,
  PermissionEvent,
  SessionEvent,
  ViewEvent,
} from "./events.js";
import { EMPTY_SESSION, type Item, type Question, type SessionState, type ViewState } from "./state.js";
import { NEW_TERMINAL, printed } from "./terminals.js";
import { withCall, withCallChanged, withItem, withOptions, withUpdate } from "./updates.js";

const FRAME_TYPES: ReadonlySet<string> = new Set<FrameEvent["type"]>([
  "connection",
  "context",
  "editor",
  "sessions",
  "follow",
  "signIn",
  "files",
  "request",
]);

/** Whether an event belongs to the window rather than to one session. */
export function isFrameEvent(event: ViewEvent): event is FrameEvent {
  return FRAME_TYPES.has(event.type);
}

/** Return the view after an event. */
export function reduce(state: ViewState, event: ViewEvent): ViewState {
  if (isFrameEvent(event)) return withFrame(state, event);
  const session = withSessionEvent(state.session, event);
  if (session === state.session) return state;
  return { ...state, session, announcement: announcementOf(event) ?? state.announcement };
}

/** Return the view after events, in order. */
export function reduceAll(state: ViewState, events: readonly ViewEvent[]): ViewState {
  return events.reduce(reduce, state);
}

function withFrame(state: ViewState, event: FrameEvent): ViewState {
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
    case "files":
      return { ...state, files: event };
    case "request":
      return { ...state, request: event };
  }
}

function withSessionEvent(session: SessionState, event: SessionEvent): SessionState {
  switch (event.type) {
    case "session":
      return opened(session, event);
    case "choices":
      return withOptions({ ...session, modes: event.modes }, event.options);
    case "title":
      return { ...session, title: event.title };
    case "update":
      return withUpdate(session, event.update);
    case "prompted": {
      const { blocks, manner } = event;
      return withItem(session, { kind: "user", messageId: "", blocks, manner, isOurs: true });
    }
    case "queue":
      return { ...session, queue: event.prompts };
    case "running":
      return { ...session, isRunning: true, startedAt: event.startedAt };
    case "ended":
      return ended(session, event.reason, event.error);
    case "restore":
      return { ...session, restored: event };
    case "permission":
      return asked(session, event);
    case "elicitation":
      return withQuestion(session, elicited(event));
    case "answered":
      return answered(session, event.questionId, event.outcome);
    case "terminal":
      return withTerminal(session, event.id, (terminal) =>
        printed(terminal, event.data, event.isCut),
      );
    case "terminalEnded":
      return withTerminal(session, event.id, (terminal) => ({ ...terminal, exit: event.exit }));
    case "changes":
      return { ...session, changes: event.files };
  }
}

function opened(
  session: SessionState,
  event: Extract<SessionEvent, { type: "session" }>,
): SessionState {
  const { id, cwd, title, isLoading } = event;
  const isSame = id === session.id && !isLoading;
  return { ...(isSame ? session : EMPTY_SESSION), id, cwd, title: title || session.title, isLoading };
}

function asked(session: SessionState, event: PermissionEvent): SessionState {
  const { questionId: id, call, options } = event;
  const withIt = withCall(session, call);
  const item = withIt.items.findLast(
    (each) => each.kind === "call" && each.call.id === call.toolCallId,
  );
  const title = item?.kind === "call" ? item.call.title : "";
  return withQuestion(withIt, { kind: "permission", id, callId: call.toolCallId, title, options });
}

function elicited(event: ElicitationEvent): Question {
  return { kind: "elicitation", id: event.questionId, asked: event };
}

function withQuestion(session: SessionState, question: Question): SessionState {
  return { ...session, questions: [...session.questions, question] };
}

function answered(session: SessionState, id: string, outcome: Outcome): SessionState {
  const question = session.questions.find((each) => each.id === id);
  const questions = session.questions.filter((each) => each.id !== id);
  const settled = { ...session, questions };
  if (question?.kind !== "permission") return settled;
  const decision = outcome.outcome === "selected" ? outcome.name : "Cancelled";
  return withCallChanged(settled, question.callId, (call) => ({ ...call, decision }));
}

function withTerminal(
  session: SessionState,
  id: string,
  change: (terminal: SessionState["terminals"][string]) => SessionState["terminals"][string],
): SessionState {
  const terminal = change(session.terminals[id] ?? NEW_TERMINAL);
  return { ...session, terminals: { ...session.terminals, [id]: terminal } };
}

/** Return the session after its turn; calls that were cut off have failed. */
function ended(session: SessionState, reason: string, error: string): SessionState {
  const items = session.items.map((item) => settled(item, reason === "cancelled"));
  const quiet = { ...session, items, isRunning: false, startedAt: 0, questions: [] };
  if (reason === "end_turn" && error === "") return quiet;
  return withItem(quiet, { kind: "ending", reason, error });
}

function settled(item: Item, isCancelled: boolean): Item {
  if (item.kind !== "call") return item;
  const { status } = item.call;
  if (status === "completed" || status === "failed") return item;
  return { ...item, call: { ...item.call, status: "failed", isCancelled } };
}

function announcementOf(event: SessionEvent): string | undefined {
  switch (event.type) {
    case "permission":
      return `The agent asks for permission: ${event.call.title ?? "a call"}`;
    case "elicitation":
      return `The agent asks: ${event.message}`;
    case "running":
      return "The agent is working";
    case "ended":
      return event.error === "" ? ENDINGS[event.reason] ?? "The agent is done" : event.error;
    default:
      return undefined;
  }
}

const ENDINGS: Readonly<Record<string, string>> = {
  cancelled: "Stopped",
  cut: "Stopped: the connection to the agent ended",
  refusal: "The agent declined",
  max_tokens: "The answer was cut: it became too long",
  max_turn_requests: "The turn was ended: it took too many steps",
};
