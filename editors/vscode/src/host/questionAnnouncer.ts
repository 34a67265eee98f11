/** Announces the agent's questions, and finds the session that asks. */
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { ViewRequest } from "../shared/events.js";
import type { AskedQuestion } from "./hostServices.js";
import type { EditorWindow } from "./ports.js";
import type { Questions } from "./questions.js";
import type { SessionManager } from "./sessionManager.js";
import type { ViewPublisher } from "./viewPublisher.js";
import { t } from "../shared/l10n.js";

export interface QuestionAnnouncerContext {
  readonly questions: Questions;
  readonly sessions: SessionManager;
  readonly viewPublisher: ViewPublisher;
  readonly editorWindow: Pick<EditorWindow, "revealChat">;
  readonly onQuestion: (question: AskedQuestion) => void;
  /** Name of the agent of a session; empty for the own server. */
  readonly agentName: (sessionId: string) => string;
  readonly request: (action: ViewRequest) => void;
}

export class QuestionAnnouncer {
  readonly #context: QuestionAnnouncerContext;

  constructor(context: QuestionAnnouncerContext) {
    this.#context = context;
  }

  /** Serve `session/request_permission`. */
  askPermission(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const answer = this.#context.questions.askPermission(request, signal);
    this.#announce(request.sessionId, request.toolCall.title ?? t("Run a tool"), true, answer);
    return answer;
  }

  /** Serve `elicitation/create`. */
  askElicitation(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const { questions, viewPublisher } = this.#context;
    const { shownSessionId } = viewPublisher;
    const sessionId = "sessionId" in request ? String(request.sessionId) : shownSessionId;
    const before = questions.openCount;
    const answer = questions.askElicitation(request, signal, shownSessionId);
    if (questions.openCount > before) this.#announce(sessionId, request.message, false, answer);
    return answer;
  }

  /** Title of the session with the oldest open question; empty if it is shown, or has none. */
  get askingTitle(): string {
    const { questions, sessions, viewPublisher } = this.#context;
    const { askingSessionId } = questions;
    return viewPublisher.viewShowing(askingSessionId) !== undefined ? "" : sessions.titleOf(askingSessionId);
  }

  /** Show the session that asked a question, by default the oldest open one, and focus the question. */
  async show(questionId = ""): Promise<void> {
    const { questions, sessions, viewPublisher, editorWindow, request } = this.#context;
    const asking = questions.sessionIdOf(questionId);
    const sessionId = asking === "" ? questions.askingSessionId : asking;
    const viewId = sessionId === "" ? undefined : viewPublisher.viewShowing(sessionId);
    if (viewId !== undefined) viewPublisher.activate(viewId);
    editorWindow.revealChat();
    if (sessionId !== "" && viewId === undefined) await sessions.show(sessionId);
    request(sessionId === "" ? "focusInput" : "focusQuestion");
  }

  #announce(sessionId: string, title: string, isPermission: boolean, answered: Promise<unknown>): void {
    const { questions, sessions, viewPublisher, onQuestion, agentName } = this.#context;
    const isInShownSession = viewPublisher.viewShowing(sessionId) !== undefined;
    const sessionTitle = isInShownSession ? "" : sessions.titleOf(sessionId);
    const text = sessionTitle === "" ? title : `${title} (in “${sessionTitle}”)`;
    onQuestion({ questionId: questions.newestId, sessionId, agent: agentName(sessionId), isPermission, text, isInShownSession, answered });
  }
}
