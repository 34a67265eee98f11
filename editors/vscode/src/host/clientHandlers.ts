/** Serves the agent's requests and notifications with the parts of the host. */
import type { SessionNotification } from "@agentclientprotocol/sdk";
import type { BackgroundPrompts } from "./backgroundPrompts.js";
import type { ClientHandlers } from "./connection.js";
import type { EditorReporter } from "./editorReporter.js";
import type { FileService } from "./fileService.js";
import type { QuestionAnnouncer } from "./questionAnnouncer.js";
import type { Questions } from "./questions.js";
import type { ReviewLoader } from "./reviewLoader.js";
import type { TerminalManager } from "./terminalManager.js";

interface HostParts {
  readonly backgroundPrompts: BackgroundPrompts;
  readonly editorReporter: EditorReporter;
  readonly fileService: FileService;
  readonly questionAnnouncer: QuestionAnnouncer;
  readonly questions: Questions;
  readonly reviews: ReviewLoader;
  readonly terminals: TerminalManager;
  update(notification: SessionNotification): void;
  symbols(params: unknown): Promise<object>;
  /** Run work that no caller awaits. */
  inBackground(work: Promise<void>): void;
}

export function clientHandlersOf(parts: HostParts): ClientHandlers {
  const { backgroundPrompts, editorReporter, fileService, questionAnnouncer, questions, reviews, terminals } = parts;
  return {
    update: (notification) => {
      if (backgroundPrompts.owns(notification.sessionId)) backgroundPrompts.update(notification);
      else parts.update(notification);
    },
    permission: (request, signal) => {
      if (backgroundPrompts.owns(request.sessionId)) return Promise.resolve({ outcome: { outcome: "cancelled" } });
      return questionAnnouncer.askPermission(request, signal);
    },
    elicit: (request, signal) => {
      const sessionId = "sessionId" in request ? String(request.sessionId) : "";
      if (backgroundPrompts.owns(sessionId)) return Promise.resolve({ action: "cancel" });
      return questionAnnouncer.askElicitation(request, signal);
    },
    elicitationCompleted: (id) => {
      questions.completeElicitation(id);
    },
    readFile: (request) => fileService.read(request),
    writeFile: async (request) => {
      if (backgroundPrompts.owns(request.sessionId)) throw new Error("This session may only answer.");
      const onWritten = (sessionId: string, path: string, before: string | null): void => {
        parts.inBackground(reviews.load().then((loaded) => loaded.onFileWritten(sessionId, path, before)));
        editorReporter.onFileWritten(sessionId, path);
      };
      await fileService.write(request, onWritten, reviews.loaded?.proposals);
    },
    symbols: (params) => parts.symbols(params),
    ...terminals.handlers,
    createTerminal: async (request) => {
      if (backgroundPrompts.owns(request.sessionId)) throw new Error("This session may only answer.");
      return terminals.handlers.createTerminal(request);
    },
  };
}
