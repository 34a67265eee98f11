/**
 * The user's answers to forms, and rejections of tool calls or of parts of them, persisted across editor restarts.
 *
 * `session/load` replays the messages of a session but not what the agent asked. This store saves each answered
 * form, and each rejection without what was proposed, and inserts them again, after their number of prompts and
 * tool calls.
 */
import type { ElicitationEvent, PartsEvent, PermissionEvent, SessionEvent } from "../shared/events.js";
import { reduce, reduceAll } from "../shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../shared/state.js";
import { hasShape, isListOf, isNullOr, isNumber, isOneOf, isRecord, isText, type FieldCheck } from "../shared/validation.js";
import type { WorkspaceState } from "./ports.js";

const KEY = "form answers";
const MAX_SESSIONS = 30;
const MAX_ANSWERS = 20;
/** Forms with more characters are not saved. */
const MAX_CHARACTERS = 20_000;

type AnsweredEvent = Extract<SessionEvent, { type: "answered" }>;

/** An answered question and its place: the number of prompts and of tool calls before it. */
interface SavedAnswer {
  readonly prompts: number;
  readonly calls: number;
  /** The question, and its answer. */
  readonly events: readonly SessionEvent[];
}

export class AnswerStore {
  readonly #workspaceState: WorkspaceState;
  /** Answers by session id, the most recently changed session last (the first is evicted). */
  readonly #answers: Map<string, readonly SavedAnswer[]>;
  readonly #asked = new Map<string, ElicitationEvent | PermissionEvent>();

  constructor(workspaceState: WorkspaceState) {
    this.#workspaceState = workspaceState;
    this.#answers = new Map(Object.entries(parse(workspaceState.get(KEY))));
  }

  /** Save the answer to a form, or a rejection; `events` are the session's events so far. Other events are ignored. */
  observe(sessionId: string, event: SessionEvent, events: readonly SessionEvent[]): void {
    if (event.type === "elicitation" || event.type === "permission") this.#asked.set(event.questionId, event);
    if (event.type !== "answered") return;
    const asked = this.#asked.get(event.questionId);
    this.#asked.delete(event.questionId);
    const parts = asked?.type === "permission" ? rejectedPartsOf(asked, events) : undefined;
    const question = asked?.type === "permission" ? rejectionOf(asked, event, parts !== undefined) : asked;
    if (question !== undefined && event.outcome.outcome === "selected") this.#save(sessionId, question, parts, event, events);
  }

  /** Forget the answers after the end of the conversation, which was restored to an earlier state. */
  onRewound(sessionId: string, events: readonly SessionEvent[]): void {
    const { prompts } = placeIn(reduceAll(EMPTY_VIEW, events));
    this.#set(sessionId, this.#of(sessionId).filter((answer) => answer.prompts <= prompts));
  }

  /** Return the replayed events of a session with the saved answers inserted. */
  withAnswers(sessionId: string, events: readonly SessionEvent[]): readonly SessionEvent[] {
    let waiting = this.#of(sessionId);
    if (waiting.length === 0) return events;
    const result: SessionEvent[] = [];
    let view = EMPTY_VIEW;
    for (const event of events) {
      const before = view.session.items.length;
      view = reduce(view, event);
      result.push(event);
      if (view.session.items.length === before) continue;
      const { prompts, calls } = placeIn(view);
      const isReached = (answer: SavedAnswer): boolean => prompts >= answer.prompts && calls >= answer.calls;
      result.push(...waiting.filter(isReached).flatMap((answer) => answer.events));
      waiting = waiting.filter((answer) => !isReached(answer));
    }
    return result;
  }

  forget(sessionId: string): void {
    if (this.#answers.has(sessionId)) this.#set(sessionId, []);
  }

  #of(sessionId: string): readonly SavedAnswer[] {
    return this.#answers.get(sessionId) ?? [];
  }

  #save(sessionId: string, question: ElicitationEvent | PermissionEvent, parts: PartsEvent | undefined, answered: AnsweredEvent, events: readonly SessionEvent[]): void {
    const earlier = this.#of(sessionId);
    // Question ids start again with each window.
    const questionId = `saved ${answered.questionId} ${String(earlier.length)}`;
    const saved = [{ ...question, questionId }, ...(parts === undefined ? [] : [parts]), { ...answered, questionId }];
    if (JSON.stringify(saved).length > MAX_CHARACTERS) return;
    // The reason for a rejection is a prompt that reaches the agent before the answer, and is replayed after the call.
    const end = question.type === "permission" ? events.findIndex((event) => event.type === "permission" && event.questionId === answered.questionId) : events.length;
    this.#set(sessionId, [...earlier, { ...placeIn(reduceAll(EMPTY_VIEW, events.slice(0, end + 1))), events: saved }]);
  }

  #set(sessionId: string, answers: readonly SavedAnswer[]): void {
    this.#answers.delete(sessionId);
    if (answers.length > 0) this.#answers.set(sessionId, answers.slice(-MAX_ANSWERS));
    const kept = [...this.#answers].slice(-MAX_SESSIONS);
    this.#workspaceState.set(KEY, kept.length === 0 ? undefined : JSON.stringify(Object.fromEntries(kept)));
  }
}

/** Return what is kept of a question that was rejected, perhaps in part: its call, and the chosen option; nothing of others. */
function rejectionOf({ type, questionId, call, options }: PermissionEvent, { outcome }: AnsweredEvent, isPartly: boolean): PermissionEvent | undefined {
  const chosen = options.filter(({ optionId, kind }) => outcome.outcome === "selected" && optionId === outcome.optionId && (isPartly || kind.startsWith("reject_")));
  return chosen.length === 0 ? undefined : { type, questionId, call: { toolCallId: call.toolCallId }, options: chosen };
}

/** Return the parts of a call that the user rejected; undefined if there are none. */
function rejectedPartsOf({ call }: PermissionEvent, events: readonly SessionEvent[]): PartsEvent | undefined {
  const found = events.findLast((event): event is PartsEvent => event.type === "parts" && event.callId === call.toolCallId);
  return found?.rejected.length === 0 ? undefined : found;
}

function placeIn({ session }: ViewState): Pick<SavedAnswer, "prompts" | "calls"> {
  const countOf = (kind: string): number => session.items.filter((item) => item.kind === kind).length;
  return { prompts: countOf("user"), calls: countOf("call") };
}

const isForm = hasShape({ type: isOneOf("elicitation"), questionId: isText, message: isText, form: isNullOr(isRecord) });
const isAnswer = hasShape({ type: isOneOf("answered"), questionId: isText, outcome: isRecord });
const isOption = hasShape({ optionId: isText, name: isText, kind: isText });
const isRejection = hasShape({ type: isOneOf("permission"), questionId: isText, call: hasShape({ toolCallId: isText }), options: isListOf(isOption) });
const isParts = hasShape({ type: isOneOf("parts"), callId: isText, rejected: isListOf(isRecord) });
const isQuestionOrAnswer: FieldCheck = (value) => [isForm, isRejection, isParts, isAnswer].some((isValid) => isValid(value));
const isAnswers = isListOf(hasShape({ prompts: isNumber, calls: isNumber, events: isListOf(isQuestionOrAnswer) }));

/** Parse the saved answers; nothing if they were written by another version, or are corrupt. */
function parse(text: string | undefined): Readonly<Record<string, readonly SavedAnswer[]>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    if (!isRecord(value)) return {};
    return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, readonly SavedAnswer[]] => isAnswers(entry[1])));
  } catch {
    return {};
  }
}
