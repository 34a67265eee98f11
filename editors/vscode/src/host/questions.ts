/**
 * Open permission requests and elicitations from the agent.
 *
 * Each is answered exactly once: by the user, or as cancelled when its turn ends, its connection
 * closes or the agent cancels the request.
 */
import {
  CreateElicitationRequest,
  type CreateElicitationResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { ElicitationEvent, FormContent, QuestionOutcome, PermissionEvent, SessionEvent } from "../shared/events.js";
import { t } from "../shared/l10n.js";

interface OpenQuestionBase {
  readonly sessionId: string;
  readonly cancel: () => void;
}

interface OpenPermission extends OpenQuestionBase {
  readonly kind: "permission";
  readonly request: RequestPermissionRequest;
  readonly settle: (outcome: QuestionOutcome) => void;
}

interface OpenElicitation extends OpenQuestionBase {
  readonly kind: "elicitation";
  readonly url: string;
  readonly elicitationId: string;
  readonly settle: (response: CreateElicitationResponse, outcome: QuestionOutcome, content?: FormContent) => void;
}

type OpenQuestion = OpenPermission | OpenElicitation;
type QuestionEvent =
  | PermissionEvent
  | ElicitationEvent
  | Extract<SessionEvent, { type: "answered" }>;

const CANCELLED: QuestionOutcome = { outcome: "cancelled" };

export class Questions {
  readonly #open = new Map<string, OpenQuestion>();
  readonly #publish: (sessionId: string, event: QuestionEvent) => void;
  #askedCount = 0;

  constructor(publish: (sessionId: string, event: QuestionEvent) => void) {
    this.#publish = publish;
  }

  /** Id of the most recent question. */
  get newestId(): string {
    return `question-${String(this.#askedCount)}`;
  }

  /** Number of unanswered questions. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Number of unanswered questions of one session. */
  openCountOf(sessionId: string): number {
    return [...this.#open.values()].filter((open) => open.sessionId === sessionId).length;
  }

  /** Id of the session that asked a question; empty if it is answered. */
  sessionIdOf(questionId: string): string {
    return this.#open.get(questionId)?.sessionId ?? "";
  }

  /** Id of the session with the oldest unanswered question; empty if there is none. */
  get askingSessionId(): string {
    const [oldest] = this.#open.values();
    return oldest?.sessionId ?? "";
  }

  /** Serve `session/request_permission`: resolve with the user's choice, or `cancelled`. */
  askPermission(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const questionId = this.#newId();
    const { sessionId, toolCall: call, options } = request;
    return new Promise((resolve) => {
      const settle = (outcome: QuestionOutcome): void => {
        this.#close(questionId, sessionId, outcome);
        resolve({ outcome: permissionOutcome(outcome) });
      };
      const cancel = (): void => {
        settle(CANCELLED);
      };
      this.#open.set(questionId, { kind: "permission", sessionId, request, settle, cancel });
      onAbort(signal, cancel, () => this.#open.has(questionId));
      this.#publish(sessionId, { type: "permission", questionId, call, options });
    });
  }

  /** Serve `elicitation/create`: resolve with the user's answer, or `cancel`; `decline` for unknown modes. */
  askElicitation(
    request: CreateElicitationRequest,
    signal: AbortSignal,
    fallbackSessionId: string,
  ): Promise<CreateElicitationResponse> {
    const questionId = this.#newId();
    const event = elicitationEvent(request, questionId);
    const sessionId = "sessionId" in request ? String(request.sessionId) : fallbackSessionId;
    if (event === null) return Promise.resolve({ action: "decline" });
    return new Promise((resolve) => {
      const settle = (response: CreateElicitationResponse, outcome: QuestionOutcome, content?: FormContent): void => {
        this.#close(questionId, sessionId, outcome, content);
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

  /** Answer a permission request; an option that was not offered is ignored. */
  answerPermission(questionId: string, optionId: string): void {
    const open = this.#open.get(questionId);
    if (open?.kind !== "permission") return;
    const option = open.request.options.find((each) => each.optionId === optionId);
    if (option !== undefined) open.settle({ outcome: "selected", optionId, name: option.name });
  }

  /** Id of a permission request's first option of a kind; empty if it is answered, or has none. */
  optionOf(questionId: string, kind: "allow_once" | "reject_once"): string {
    const open = this.#open.get(questionId);
    const options = open?.kind === "permission" ? open.request.options : [];
    return options.find((each) => each.kind === kind)?.optionId ?? "";
  }

  /** Whether an option of a permission request allows what is asked. */
  isAllowing(questionId: string, optionId: string): boolean {
    const open = this.#open.get(questionId);
    const options = open?.kind === "permission" ? open.request.options : [];
    return options.some((each) => each.optionId === optionId && each.kind.startsWith("allow"));
  }

  submitForm(questionId: string, content: FormContent): void {
    const open = this.#open.get(questionId);
    if (open?.kind !== "elicitation") return;
    const outcome: QuestionOutcome = { outcome: "selected", optionId: "accept", name: t("You sent it empty.") };
    open.settle({ action: "accept", content: { ...content } }, outcome, content);
  }

  decline(questionId: string): void {
    const open = this.#open.get(questionId);
    if (open?.kind !== "elicitation") return;
    const outcome: QuestionOutcome = { outcome: "selected", optionId: "decline", name: t("You declined to answer.") };
    open.settle({ action: "decline" }, outcome);
  }

  /** Accept a URL elicitation; return the URL to open, empty if the question has none. */
  acceptUrl(questionId: string): string {
    const open = this.#open.get(questionId);
    if (open?.kind !== "elicitation" || open.url === "") return "";
    const outcome: QuestionOutcome = { outcome: "selected", optionId: "accept", name: t("You opened the page.") };
    open.settle({ action: "accept" }, outcome);
    return open.url;
  }

  /** Close a URL elicitation that was completed on its page. */
  completeElicitation(elicitationId: string): void {
    for (const open of [...this.#open.values()]) {
      if (open.kind === "elicitation" && open.elicitationId === elicitationId) open.cancel();
    }
  }

  /** Cancel the questions of some sessions, by default all. */
  cancel(isMatch: (sessionId: string) => boolean = () => true): void {
    for (const open of [...this.#open.values()]) if (isMatch(open.sessionId)) open.cancel();
  }

  #newId(): string {
    this.#askedCount += 1;
    return this.newestId;
  }

  #close(questionId: string, sessionId: string, outcome: QuestionOutcome, content?: FormContent): void {
    if (this.#open.delete(questionId)) {
      this.#publish(sessionId, { type: "answered", questionId, outcome, ...(content !== undefined && { content }) });
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

function permissionOutcome(outcome: QuestionOutcome): RequestPermissionResponse["outcome"] {
  if (outcome.outcome === "cancelled") return { outcome: "cancelled" };
  return { outcome: "selected", optionId: outcome.optionId };
}

/** Return the event for the view; null for an unknown elicitation mode. */
function elicitationEvent(request: CreateElicitationRequest, questionId: string): ElicitationEvent | null {
  const toolCallId: unknown = "toolCallId" in request ? request.toolCallId : "";
  const callId = typeof toolCallId === "string" ? toolCallId : "";
  const base = { type: "elicitation", questionId, callId, message: request.message } as const;
  if (CreateElicitationRequest.isForm(request)) return { ...base, form: request.requestedSchema, url: "" };
  if (CreateElicitationRequest.isUrl(request)) return { ...base, form: null, url: request.url };
  return null;
}
