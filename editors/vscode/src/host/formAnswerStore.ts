/**
 * The user's answers to forms, persisted across editor restarts.
 *
 * `session/load` replays the messages of a session but not the forms that the agent showed. This store saves
 * each answered form and inserts it again, after its number of prompts and tool calls.
 */
import type { ElicitationEvent, SessionEvent } from "../shared/events.js";
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

/** An answered form and its place: the number of prompts and of tool calls before it. */
interface FormAnswer {
  readonly prompts: number;
  readonly calls: number;
  /** The form, and its answer. */
  readonly events: readonly SessionEvent[];
}

export class FormAnswerStore {
  readonly #workspaceState: WorkspaceState;
  /** Answers by session id, the most recently changed session last (the first is evicted). */
  readonly #answers: Map<string, readonly FormAnswer[]>;
  readonly #asked = new Map<string, ElicitationEvent>();

  constructor(workspaceState: WorkspaceState) {
    this.#workspaceState = workspaceState;
    this.#answers = new Map(Object.entries(parse(workspaceState.get(KEY))));
  }

  /** Save the answer to a form; `events` are the session's events so far. Other events are ignored. */
  observe(sessionId: string, event: SessionEvent, events: readonly SessionEvent[]): void {
    if (event.type === "elicitation") this.#asked.set(event.questionId, event);
    if (event.type !== "answered") return;
    const form = this.#asked.get(event.questionId);
    this.#asked.delete(event.questionId);
    if (form !== undefined && event.outcome.outcome === "selected") this.#save(sessionId, form, event, events);
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
      const isReached = (answer: FormAnswer): boolean => prompts >= answer.prompts && calls >= answer.calls;
      result.push(...waiting.filter(isReached).flatMap((answer) => answer.events));
      waiting = waiting.filter((answer) => !isReached(answer));
    }
    return result;
  }

  forget(sessionId: string): void {
    if (this.#answers.has(sessionId)) this.#set(sessionId, []);
  }

  #of(sessionId: string): readonly FormAnswer[] {
    return this.#answers.get(sessionId) ?? [];
  }

  #save(sessionId: string, form: ElicitationEvent, answered: AnsweredEvent, events: readonly SessionEvent[]): void {
    const earlier = this.#of(sessionId);
    // Question ids start again with each window.
    const questionId = `saved ${answered.questionId} ${String(earlier.length)}`;
    const saved = [{ ...form, questionId }, { ...answered, questionId }];
    if (JSON.stringify(saved).length > MAX_CHARACTERS) return;
    this.#set(sessionId, [...earlier, { ...placeIn(reduceAll(EMPTY_VIEW, events)), events: saved }]);
  }

  #set(sessionId: string, answers: readonly FormAnswer[]): void {
    this.#answers.delete(sessionId);
    if (answers.length > 0) this.#answers.set(sessionId, answers.slice(-MAX_ANSWERS));
    const kept = [...this.#answers].slice(-MAX_SESSIONS);
    this.#workspaceState.set(KEY, kept.length === 0 ? undefined : JSON.stringify(Object.fromEntries(kept)));
  }
}

function placeIn({ session }: ViewState): Pick<FormAnswer, "prompts" | "calls"> {
  const countOf = (kind: string): number => session.items.filter((item) => item.kind === kind).length;
  return { prompts: countOf("user"), calls: countOf("call") };
}

const isForm = hasShape({ type: isOneOf("elicitation"), questionId: isText, message: isText, form: isNullOr(isRecord) });
const isAnswer = hasShape({ type: isOneOf("answered"), questionId: isText, outcome: isRecord });
const isFormOrAnswer: FieldCheck = (value) => isForm(value) || isAnswer(value);
const isAnswers = isListOf(hasShape({ prompts: isNumber, calls: isNumber, events: isListOf(isFormOrAnswer) }));

/** Parse the saved answers; nothing if they were written by another version, or are corrupt. */
function parse(text: string | undefined): Readonly<Record<string, readonly FormAnswer[]>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    if (!isRecord(value)) return {};
    return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, readonly FormAnswer[]] => isAnswers(entry[1])));
  } catch {
    return {};
  }
}
