/**
 * What the agent asks the user, until it is answered.
 *
 * Owns the open questions and that each is answered once. What is not answered by the user is
 * cancelled: with its turn, with its connection, or because the agent took it back.
 */
import {
  CreateElicitationRequest,
  type CreateElicitationResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { ElicitationEvent, Outcome, PermissionEvent } from "../shared/events.js";
import type { FormContent } from "../shared/intents.js";

interface Open {
  readonly sessionId: string;
  readonly cancel: () => void;
}

interface OpenPermission extends Open {
  readonly kind: "permission";
  readonly request: RequestPermissionRequest;
  readonly settle: (outcome: Outcome) => void;
}

interface OpenElicitation extends Open {
  readonly kind: "elicitation";
  readonly url: string;
  readonly elicitationId: string;
  readonly settle: (response: CreateElicitationResponse, outcome: Outcome) => void;
}

type OpenQuestion = OpenPermission | OpenElicitation;
type QuestionEvent =
  | PermissionEvent
  | ElicitationEvent
  | { readonly type: "answered"; readonly questionId: string; readonly outcome: Outcome };

const CANCELLED: Outcome = { outcome: "cancelled" };

export class Questions {
  readonly #open = new Map<string, OpenQuestion>();
  readonly #publish: (sessionId: string, event: QuestionEvent) => void;
  #asked = 0;

  constructor(publish: (sessionId: string, event: QuestionEvent) => void) {
    this.#publish = publish;
  }

  /** The id of the question that was asked last. */
  get newest(): string {
    return `question-${String(this.#asked)}`;
  }

  /** How many questions wait for the user. */
  get waiting(): number {
    return this.#open.size;
  }

  /** Answer `session/request_permission` when the user has, or with `cancelled`. */
  permission(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const questionId = this.#newId();
    const { sessionId, toolCall: call, options } = request;
    return new Promise((resolve) => {
      const settle = (outcome: Outcome): void => {
        this.#close(questionId, sessionId, outcome);
        resolve({ outcome: answerOf(outcome) });
      };
      const cancel = (): void => {
        settle(CANCELLED);
      };
      this.#open.set(questionId, { kind: "permission", sessionId, request, settle, cancel });
      onAbort(signal, cancel, () => this.#open.has(questionId));
      this.#publish(sessionId, { type: "permission", questionId, call, options });
    });
  }

  /** Answer `elicitation/create` when the user has, or with `cancel`. */
  elicit(
    request: CreateElicitationRequest,
    signal: AbortSignal,
    fallbackSessionId: string,
  ): Promise<CreateElicitationResponse> {
    const questionId = this.#newId();
    const event = eventOf(request, questionId);
    const sessionId = "sessionId" in request ? String(request.sessionId) : fallbackSessionId;
    if (event === null) return Promise.resolve({ action: "decline" });
    return new Promise((resolve) => {
      const settle = (response: CreateElicitationResponse, outcome: Outcome): void => {
        this.#close(questionId, sessionId, outcome);
        resolve(response);
      };
      const cancel = (): void => {
        settle({ action: "cancel" }, CANCELLED);
      };
      const { url } = event;
      const elicitationId = "elicitationId" in request ? String(request.elicitationId) : "";
      const open = { kind: "elicitation", sessionId, url, elicitationId, settle, cancel } as const;
      this.#open.set(questionId, open);
      onAbort(signal, cancel, () => this.#open.has(questionId));
      this.#publish(sessionId, event);
    });
  }

  /** Take the user's choice; one that was not offered is not taken. */
  permit(questionId: string, optionId: string): void {
    const open = this.#open.get(questionId);
    if (open?.kind !== "permission") return;
    const option = open.request.options.find((each) => each.optionId === optionId);
    if (option !== undefined) open.settle({ outcome: "selected", optionId, name: option.name });
  }

  /** Answer a permission with the first option of a kind, as a notification's button does. */
  permitBy(questionId: string, kind: "allow_once" | "reject_once"): void {
    const open = this.#open.get(questionId);
    if (open?.kind !== "permission") return;
    const option = open.request.options.find((each) => each.kind === kind);
    if (option !== undefined) this.permit(questionId, option.optionId);
  }

  fillIn(questionId: string, content: FormContent): void {
    const open = this.#open.get(questionId);
    if (open?.kind !== "elicitation") return;
    const outcome: Outcome = { outcome: "selected", optionId: "accept", name: "Answered" };
    open.settle({ action: "accept", content: { ...content } }, outcome);
  }

  decline(questionId: string): void {
    const open = this.#open.get(questionId);
    if (open?.kind !== "elicitation") return;
    const outcome: Outcome = { outcome: "selected", optionId: "decline", name: "Declined" };
    open.settle({ action: "decline" }, outcome);
  }

  /** Consent to go to a question's page; return where that is, empty if it has none. */
  consent(questionId: string): string {
    const open = this.#open.get(questionId);
    if (open?.kind !== "elicitation" || open.url === "") return "";
    const outcome: Outcome = { outcome: "selected", optionId: "accept", name: "Opened" };
    open.settle({ action: "accept" }, outcome);
    return open.url;
  }

  /** Take a page's question away that was answered there. */
  complete(elicitationId: string): void {
    for (const open of [...this.#open.values()]) {
      if (open.kind === "elicitation" && open.elicitationId === elicitationId) open.cancel();
    }
  }

  /** Cancel what a session asks, or everything. */
  cancel(sessionId?: string): void {
    for (const open of [...this.#open.values()]) {
      if (sessionId === undefined || open.sessionId === sessionId) open.cancel();
    }
  }

  #newId(): string {
    this.#asked += 1;
    return this.newest;
  }

  #close(questionId: string, sessionId: string, outcome: Outcome): void {
    if (this.#open.delete(questionId)) {
      this.#publish(sessionId, { type: "answered", questionId, outcome });
    }
  }
}

function onAbort(signal: AbortSignal, cancel: () => void, isOpen: () => boolean): void {
  const abort = (): void => {
    if (isOpen()) cancel();
  };
  if (signal.aborted) queueMicrotask(abort);
  else signal.addEventListener("abort", abort, { once: true });
}

function answerOf(outcome: Outcome): RequestPermissionResponse["outcome"] {
  if (outcome.outcome === "cancelled") return { outcome: "cancelled" };
  return { outcome: "selected", optionId: outcome.optionId };
}

/** Return what the view is shown; null for a mode that we do not know. */
function eventOf(request: CreateElicitationRequest, questionId: string): ElicitationEvent | null {
  const given: unknown = "toolCallId" in request ? request.toolCallId : "";
  const callId = typeof given === "string" ? given : "";
  const base = { type: "elicitation", questionId, callId, message: request.message } as const;
  if (CreateElicitationRequest.isForm(request)) return { ...base, form: request.requestedSchema, url: "" };
  if (CreateElicitationRequest.isUrl(request)) return { ...base, form: null, url: request.url };
  return null;
}
