/**
 * The extension host's composition root: agents, sessions, questions, files, terminals, reviews, view.
 *
 * Builds every part and routes events between them. The rules of each part are in its own module.
 */
import type { ClientContext, SessionNotification } from "@agentclientprotocol/sdk";
import type { SessionEvent, ViewRequest } from "../shared/events.js";
import type { Intent } from "../shared/intents.js";
import type { ClientHandlers, Connection } from "./connection.js";
import { chosenAgent } from "./agentChoice.js";
import { agentIdOf, OWN_AGENT } from "./agentIds.js";
import type { AgentProcess } from "./agentProcess.js";
import { AgentProcesses } from "./agentProcesses.js";
import { BackgroundPrompts } from "./backgroundPrompts.js";
import { clientHandlersOf } from "./clientHandlers.js";
import { LOADING_CONTEXT, loadContext } from "./contextReport.js";
import { TurnEndStore } from "./turnEndStore.js";
import { isAuthRequired, messageOf } from "./errors.js";
import { FileService } from "./fileService.js";
import { AnswerStore } from "./answerStore.js";
import { MentionSearch } from "./mentionSearch.js";
import type { MentionReader } from "./promptBlocks.js";
import { FollowMode } from "./followMode.js";
import { SIDE_BAR, ViewPublisher } from "./viewPublisher.js";
import { handleIntent, permit, type IntentHost } from "./intentHandlers.js";
import type { EditorWindow } from "./ports.js";
import { EditorReporter, editorEventOf } from "./editorReporter.js";
import { QuestionAnnouncer } from "./questionAnnouncer.js";
import { Questions } from "./questions.js";
import { ReviewLoader } from "./reviewLoader.js";
import type { SessionContext } from "./session.js";
import { sessionFactsOf } from "./sessionDescription.js";
import type { AgentHandle } from "./sessionLists.js";
import { SessionManager, SHOWN_KEY } from "./sessionManager.js";
import { ServerSetup } from "./serverSetup.js";
import { labelIn, pathInside } from "./workspacePaths.js";
import type { HostServices } from "./hostServices.js";
import { TerminalManager } from "./terminalManager.js";
import { t } from "../shared/l10n.js";

export class Controller implements IntentHost {
  readonly viewPublisher: ViewPublisher;
  readonly agents: AgentProcesses;
  readonly questions: Questions;
  readonly terminals: TerminalManager;
  readonly reviews: ReviewLoader;
  readonly followMode: FollowMode;
  readonly editorReporter: EditorReporter;
  readonly sessions: SessionManager;
  readonly turnEnds: TurnEndStore;
  readonly answers: AnswerStore;
  readonly backgroundPrompts = new BackgroundPrompts();
  readonly editorWindow: EditorWindow;
  readonly mentionSearch: MentionSearch;
  readonly mentionReader: MentionReader;
  readonly serverSetup: ServerSetup;
  readonly questionAnnouncer: QuestionAnnouncer;
  readonly #services: HostServices;
  readonly #fileService: FileService;
  #requestCount = 0;
  /** Number of the last attached files. It is of this moment, because pages remember it across windows. */
  #lastAttached = 0;

  constructor(services: HostServices, viewPublisher: ViewPublisher = new ViewPublisher()) {
    const { editorWindow, workspaceState, log } = services;
    const record = (sessionId: string, event: SessionEvent): void => {
      viewPublisher.record(sessionId, event);
    };
    this.#services = services;
    this.viewPublisher = viewPublisher;
    this.editorWindow = editorWindow;
    this.#fileService = new FileService(services.documents, services.disk);
    this.questions = new Questions((sessionId, event) => {
      record(sessionId, event);
      this.answers.observe(sessionId, event, viewPublisher.eventsOf(sessionId));
      this.sessions.publishList();
      this.#publishState();
      this.#inBackground(this.reviews.onQuestion(sessionId, event));
    });
    this.mentionSearch = new MentionSearch(editorWindow, (path) => this.labelOf(path));
    this.mentionReader = { readText: (path) => this.#fileService.readText(path), ...services.mentionSources };
    this.terminals = new TerminalManager(services.terminalPanel, record);
    const [labelOf, { textStore }] = [this.labelOf.bind(this), services];
    const reviewContext = {
      ...{ fileService: this.#fileService, textStore, editorWindow, labelOf, publish: record },
      eventsOf: viewPublisher.eventsOf.bind(viewPublisher),
      shownSessionId: () => viewPublisher.shownSessionId,
      optionOf: this.questions.optionOf.bind(this.questions),
      answer: (questionId: string, optionId: string, reason: string) => permit({ questionId, optionId, reason }, this),
    };
    this.reviews = new ReviewLoader(() => services.loadReviews(reviewContext), textStore);
    this.turnEnds = new TurnEndStore(workspaceState);
    this.answers = new AnswerStore(workspaceState);
    this.followMode = new FollowMode(editorWindow, services.shouldFollowInitially());
    this.agents = new AgentProcesses({
      ...{ services, workspaceState, viewPublisher, editorWindow },
      handlers: this.#clientHandlers.bind(this),
      sessions: () => this.sessions,
      commandToStart: (serverCommand, agentId) => this.serverSetup.commandToStart(serverCommand, agentId),
      onStatus: this.#onStatus.bind(this),
      onConnected: this.#onConnected.bind(this),
      onDisconnected: this.#onDisconnected.bind(this),
    });
    this.editorReporter = new EditorReporter({
      agent: (sessionId) => this.agents.of(sessionId).connection?.agent ?? null,
      problemsOf: (path) => services.problemsOf(path),
    });
    this.sessions = new SessionManager({
      viewPublisher,
      workspaceState,
      log,
      folders: () => editorWindow.folders,
      mcpServers: services.mcpServers.bind(services),
      agentIds: () => this.agents.ids,
      agentName: (agentId) => this.agents.get(agentId).name,
      startAgent: (agentId) => {
        this.agents.get(agentId).start();
      },
      now: services.now.bind(services),
      createSessionContext: (sessionId, handle) => this.#sessionContext(sessionId, handle),
      withSaved: (sessionId, events) => this.answers.withAnswers(sessionId, this.turnEnds.withTurnEnds(sessionId, events)),
      isHidden: (sessionId) => this.backgroundPrompts.owns(sessionId),
      openQuestionsOf: (sessionId) => this.questions.openCountOf(sessionId),
      onShown: () => {
        this.#inBackground(this.reviews.loaded?.onShown());
      },
      onLoaded: (sessionId) => {
        this.#inBackground(this.reviews.restore(sessionId));
      },
    });
    this.questionAnnouncer = new QuestionAnnouncer({
      questions: this.questions,
      sessions: this.sessions,
      viewPublisher,
      editorWindow,
      onQuestion: services.onQuestion.bind(services),
      agentName: this.agents.otherNameOf.bind(this.agents),
      request: this.requestViewAction.bind(this),
    });
    this.serverSetup = new ServerSetup({
      services,
      agent: () => this.agents.shown,
      publish: viewPublisher.publishOf.bind(viewPublisher),
    });
    viewPublisher.agentOfNewSessions = () => chosenAgent(workspaceState)?.id ?? OWN_AGENT;
    viewPublisher.open(SIDE_BAR, workspaceState.get(SHOWN_KEY) ?? "");
    viewPublisher.publish({ type: "follow", isOn: this.followMode.isOn });
    this.#publishState();
  }

  /** Start or restart the agent of the shown session. */
  restart(): void {
    this.agents.shown.restart();
  }

  /** Carry out a user's intent in a view, by default the active one. Failures are logged and shown as a message. */
  async handle(intent: Intent, viewId: string = this.viewPublisher.activeId): Promise<void> {
    // A page that becomes ready was not necessarily used: VS Code restores several at once.
    if (intent.type !== "ready") this.viewPublisher.activate(viewId);
    try {
      if (intent.type === "ready") await this.sessions.fill(viewId);
      else await handleIntent(intent, this);
    } catch (error) {
      this.#services.log.error(`${intent.type}: ${messageOf(error)}`);
      await this.editorWindow.showWarning(messageOf(error), []);
    }
    this.#publishState(); // the model or the mode may be another one
  }

  /** Report the active file, selection and problems to the view and to the agent. */
  reportEditorState(): void {
    const snapshot = this.editorWindow.snapshot();
    const { file } = snapshot;
    const isInWorkspace = this.editorWindow.folders.some((folder) => pathInside(folder, file) !== null);
    this.viewPublisher.publish(editorEventOf(snapshot, file === "" ? "" : this.labelOf(file), isInWorkspace));
    if (isInWorkspace) this.editorReporter.scheduleActiveFile(this.viewPublisher.shownSessionId, snapshot);
  }

  /** Ask the view to perform an action once. */
  requestViewAction(action: ViewRequest): void {
    this.#requestCount += 1;
    this.viewPublisher.publish({ type: "request", action, number: this.#requestCount });
  }

  /** The side of a session's agent of the connection.
   *
   * @throws if the agent is not connected.
   */
  agentOf(sessionId: string): ClientContext {
    return this.agents.of(sessionId).agent;
  }

  /** Let the user choose an agent, and show a new session of it. */
  async chooseAgent(): Promise<void> {
    const choice = await this.#services.chooseAgent();
    if (choice !== undefined) await this.agents.switchTo(choice);
  }

  async signIn(methodId: string): Promise<void> {
    await this.serverSetup.signIn(methodId, this.agents.shown);
    await this.sessions.fill(this.viewPublisher.activeId); // an agent may have refused a session before
  }

  /** Send the view a script that it loads at first use. */
  async loadScript(name: string): Promise<void> {
    const { activeId } = this.viewPublisher;
    this.viewPublisher.sendScript(name, await this.#services.readScript(name), activeId);
  }

  attach(paths: readonly string[]): void {
    this.#lastAttached = Math.max(this.#lastAttached + 1, this.#services.now());
    const choices = paths.map((path) => this.mentionSearch.choiceOf(path));
    this.viewPublisher.publish({ type: "attach", choices, number: this.#lastAttached });
  }

  /** Reload the active instruction files and skills and publish them to the view. */
  async refreshContext(): Promise<void> {
    const [cwd] = this.editorWindow.folders;
    const { id, serverCommand, connection, isOwnServer } = this.agents.shown;
    if (serverCommand === null || cwd === undefined) return;
    if (!isOwnServer) {
      // Another agent's program would understand the arguments as it likes.
      const message = connection === null ? t("The server is not running.") : t("Only the Hermes Agent shows this.");
      this.viewPublisher.publishOf(id, { ...LOADING_CONTEXT, status: "unknown", message });
      return;
    }
    this.viewPublisher.publishOf(id, LOADING_CONTEXT);
    this.viewPublisher.publishOf(id, await loadContext(serverCommand, cwd, this.#services.runCommandLine));
  }

  /** Return the agent's answer to a prompt that no view shows. */
  askInBackground(text: string): Promise<string> {
    const { agent, features } = this.agents.shown;
    return this.backgroundPrompts.run(agent, this.editorWindow.folders[0] ?? "", text, features.delete);
  }

  setFollow(isOn: boolean): void {
    this.followMode.isOn = isOn;
    this.viewPublisher.publish({ type: "follow", isOn });
  }

  /** Return a path for display: relative to its workspace folder, or absolute outside of the workspace. */
  labelOf(path: string): string {
    return labelIn(this.editorWindow.folders, path);
  }

  dispose(): void {
    this.questions.cancel();
    this.terminals.dispose();
    this.editorReporter.dispose();
    this.agents.dispose();
    this.viewPublisher.dispose();
  }

  async #onConnected(agent: AgentProcess, connection: Connection): Promise<void> {
    try {
      await this.sessions.onConnected(agent.id, { agent: connection.agent, features: agent.features, isOpen: () => connection.isOpen() });
    } catch (error) {
      if (!isAuthRequired(error)) throw error;
      this.viewPublisher.publishOf(agent.id, { type: "signIn", isNeeded: true, message: messageOf(error) });
    }
    this.#announceRestart(agent);
    if (agent.isOwnServer) await this.serverSetup.checkSignIn(agent.id, connection);
    this.reportEditorState();
  }

  /** Show a notice in the chat that the server stopped unexpectedly, and why. */
  #announceRestart(agent: AgentProcess): void {
    const failure = agent.takeLastFailure();
    if (failure === "") return;
    const [reason = "", ...details] = failure.split("\n");
    const title = `${reason} ${t("It was restarted.")}`;
    const update = { sessionUpdate: "notice", severity: "warning", title, description: details.join("\n") } as const;
    const { viewPublisher } = this;
    const shown = viewPublisher.viewIds.filter((viewId) => viewPublisher.agentOf(viewId) === agent.id).map((viewId) => viewPublisher.shownBy(viewId));
    for (const sessionId of new Set(shown)) viewPublisher.record(sessionId, { type: "update", update });
  }

  #onDisconnected({ id }: AgentProcess): void {
    const isOfAgent = (sessionId: string): boolean => agentIdOf(sessionId) === id;
    this.questions.cancel(isOfAgent);
    this.terminals.dispose(isOfAgent);
    this.sessions.onDisconnected(id);
  }

  #sessionContext(sessionId: string, handle: AgentHandle): SessionContext {
    return {
      agent: handle.agent,
      canSteer: handle.features.steer,
      isConnected: () => handle.isOpen(),
      publish: (event) => {
        this.turnEnds.observe(sessionId, event);
        this.viewPublisher.record(sessionId, event);
      },
      onTurnChange: (isRunning) => {
        this.#onTurnChange(sessionId, isRunning);
      },
      onAuthRequired: (message) => {
        // The own server has said in its answer what is missing.
        const agent = this.agents.of(sessionId);
        this.viewPublisher.publishOf(agent.id, { type: "signIn", isNeeded: true, message: agent.isOwnServer ? "" : message });
      },
      cancelQuestions: () => {
        this.questions.cancel((each) => each === sessionId);
      },
      now: () => this.#services.now(),
    };
  }

  #onTurnChange(sessionId: string, isRunning: boolean): void {
    this.sessions.publishList();
    this.#publishState();
    if (isRunning) return;
    this.#inBackground(this.reviews.loaded?.endTurn(sessionId));
    this.#inBackground(this.sessions.refresh(agentIdOf(sessionId)));
  }

  #clientHandlers(): ClientHandlers {
    const { backgroundPrompts, editorReporter, questionAnnouncer, questions, reviews, terminals } = this;
    return clientHandlersOf({
      ...{ backgroundPrompts, editorReporter, questionAnnouncer, questions, reviews, terminals, fileService: this.#fileService },
      update: (notification) => {
        this.#onSessionUpdate(notification);
      },
      symbols: (params) => this.#services.symbols(params),
      inBackground: (work) => {
        this.#inBackground(work);
      },
    });
  }

  #onSessionUpdate(notification: SessionNotification): void {
    const { sessionId, update } = notification;
    this.sessions.update(notification);
    // While a session loads, the agent replays old updates. They must not count as new changes.
    if (this.sessions.find(sessionId)?.isRunning !== true) return;
    this.#inBackground(this.reviews.onToolCallUpdate(sessionId, update));
    if (sessionId === this.viewPublisher.shownSessionId) this.#inBackground(this.followMode.follow(update));
  }

  /** Run work that no caller awaits; log its failure. */
  #inBackground(work: Promise<void> | undefined): void {
    work?.catch((error: unknown) => {
      this.#services.log.warn(messageOf(error));
    });
  }

  /** Recompute the changes of the shown session, because files were saved. */
  refreshChanges(): void {
    this.#inBackground(this.reviews.loaded?.refresh(this.viewPublisher.shownSessionId));
  }

  #onStatus(agent: AgentProcess): void {
    this.viewPublisher.publishOf(agent.id, agent.connectionEvent);
    if (agent.status === "missing") this.#inBackground(this.agents.leave(agent));
    this.#publishState();
  }

  #publishState(): void {
    const { sessions, questions, questionAnnouncer, viewPublisher, agents } = this;
    const { status, message, id, name } = agents.shown;
    this.#services.onState({
      ...{ status, message, isRunning: sessions.isRunning },
      ...{ openQuestions: questions.openCount, askingTitle: questionAnnouncer.askingTitle, askingAgent: agents.otherNameOf(questions.askingSessionId) },
      ...{ agent: id === OWN_AGENT ? "" : name, session: sessionFactsOf(viewPublisher.eventsOf(viewPublisher.shownSessionId)) },
    });
  }
}
