/**
 * The extension host's composition root: server, sessions, questions, files, terminals, reviews, view.
 *
 * Builds every part and routes events between them. The rules of each part are in its own module.
 */
import type { ClientContext, SessionNotification } from "@agentclientprotocol/sdk";
import type { AgentFeatures, ConnectionStatus, SessionEvent, SignInMethod, ViewRequest } from "../shared/events.js";
import type { Intent } from "../shared/intents.js";
import { EMPTY_VIEW } from "../shared/state.js";
import { AGENT_NAME, featuresOf, connect, signInMethodsOf, type ClientHandlers, type Connection } from "./connection.js";
import { chosenAgent } from "./agentChoice.js";
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
import { ViewPublisher } from "./viewPublisher.js";
import { handleIntent, permit, type IntentHost } from "./intentHandlers.js";
import type { ServerCommand } from "./serverLocator.js";
import type { EditorWindow } from "./ports.js";
import { EditorReporter, editorEventOf } from "./editorReporter.js";
import { QuestionAnnouncer } from "./questionAnnouncer.js";
import { Questions } from "./questions.js";
import { ReviewLoader } from "./reviewLoader.js";
import type { SessionContext } from "./session.js";
import { sessionDescriptionOf } from "./sessionDescription.js";
import { SessionManager, type AgentHandle } from "./sessionManager.js";
import { ServerSetup } from "./serverSetup.js";
import { labelIn, pathInside } from "./workspacePaths.js";
import { ServerSupervisor, type RunningServer } from "./serverSupervisor.js";
import type { HostServices } from "./hostServices.js";
import { TerminalManager } from "./terminalManager.js";
import { t } from "../shared/l10n.js";

export class Controller implements IntentHost {
  readonly viewPublisher: ViewPublisher;
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
  readonly #supervisor: ServerSupervisor;
  #connection: Connection | null = null;
  #serverCommand: ServerCommand | null = null;
  #status: ConnectionStatus = "starting";
  #message = "";
  /** Why the server last stopped; cleared once the chat has shown it. */
  #lastFailure = "";
  #requestCount = 0;
  #attachCount = 0;

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
    this.editorReporter = new EditorReporter({
      agent: () => this.#connection?.agent ?? null,
      problemsOf: (path) => services.problemsOf(path),
    });
    this.sessions = new SessionManager({
      viewPublisher,
      workspaceState,
      log,
      folders: () => editorWindow.folders,
      mcpServers: services.mcpServers.bind(services),
      agentId: () => chosenAgent(workspaceState)?.id ?? "",
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
      request: this.requestViewAction.bind(this),
    });
    this.#supervisor = new ServerSupervisor({
      startServer: () => this.#startServer(),
      onStatus: (status, message) => {
        if (status === "restarting" && message !== "") this.#lastFailure = message;
        this.#setStatus(status, message);
      },
      onConnected: () => this.#onConnected(),
      onDisconnected: () => { this.#onDisconnected(); },
      wait: services.wait.bind(services),
      now: services.now.bind(services),
    });
    this.serverSetup = new ServerSetup({
      services,
      serverCommand: () => this.#serverCommand,
      isMissing: () => this.#status === "missing",
      restart: this.restart.bind(this),
      publish: viewPublisher.publish.bind(viewPublisher),
    });
    viewPublisher.publish({ type: "follow", isOn: this.followMode.isOn });
    this.#setStatus("starting", "");
  }

  /** Start the server unless it was started before. */
  start(): void {
    if (!this.#supervisor.isStarted) this.restart();
  }

  /** Start or restart the server, if the workspace is trusted and has a folder. */
  restart(): void {
    if (!this.#services.isTrusted()) this.#setStatus("untrusted", "");
    else if (this.editorWindow.folders.length === 0) this.#setStatus("noFolder", "");
    else void this.#supervisor.start();
  }

  /** Carry out a user's intent in a view, by default the active one. Failures are logged and shown as a message. */
  async handle(intent: Intent, viewId: string = this.viewPublisher.activeId): Promise<void> {
    // A page that becomes ready was not necessarily used: VS Code restores several at once.
    if (intent.type !== "ready") this.viewPublisher.activate(viewId);
    try {
      if (intent.type === "ready") await this.sessions.fill(viewId);
      await handleIntent(intent, this);
    } catch (error) {
      this.#services.log.error(`${intent.type}: ${messageOf(error)}`);
      await this.editorWindow.showMessage(messageOf(error), []);
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

  /** The agent's side of the connection.
   *
   * @throws if the server is not running.
   */
  get agent(): ClientContext {
    if (this.#connection === null) throw new Error(t("The server is not running."));
    return this.#connection.agent;
  }

  /** The sign-in methods that the agent offers; empty while it is not connected. */
  get signInMethods(): readonly SignInMethod[] {
    return signInMethodsOf(this.#connection?.initializeResponse.authMethods);
  }

  async signIn(methodId: string): Promise<void> {
    if (this.#connection !== null) await this.serverSetup.signIn(methodId, this.#connection);
    await this.sessions.fill(this.viewPublisher.activeId); // an agent may have refused a session before
  }

  /** Send the view a script that it loads at first use. */
  async loadScript(name: string): Promise<void> {
    const { activeId } = this.viewPublisher;
    this.viewPublisher.sendScript(name, await this.#services.readScript(name), activeId);
  }

  attach(paths: readonly string[]): void {
    const choices = paths.map((path) => this.mentionSearch.choiceOf(path));
    this.viewPublisher.publish({ type: "attach", choices, number: (this.#attachCount += 1) });
  }

  /** Reload the active instruction files and skills and publish them to the view. */
  async refreshContext(): Promise<void> {
    const [cwd] = this.editorWindow.folders;
    if (this.#serverCommand === null || cwd === undefined) return;
    this.viewPublisher.publish(LOADING_CONTEXT);
    this.viewPublisher.publish(await loadContext(this.#serverCommand, cwd, this.#services.runCommandLine));
  }

  /** Return the agent's answer to a prompt that no view shows. */
  askInBackground(text: string): Promise<string> {
    return this.backgroundPrompts.run(this.agent, this.editorWindow.folders[0] ?? "", text, this.#features.delete);
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
    this.#supervisor.dispose();
    this.viewPublisher.dispose();
  }

  async #startServer(): Promise<RunningServer> {
    this.#serverCommand = await this.#services.locateServer();
    const serverCommand = this.serverSetup.commandToStart(this.#serverCommand);
    const server = this.#services.startServer(serverCommand, this.editorWindow.folders[0] ?? "");
    const exited = server.ended.then((reason) => Promise.reject(new Error(reason)));
    exited.catch(() => undefined); // rejects in every case; after `initialize`, `ended` reports the exit instead
    try {
      const initialized = connect(server.stream, this.#clientHandlers(), this.#services.version);
      this.#connection = await Promise.race([initialized, exited]);
    } catch (error) {
      server.dispose();
      throw error;
    }
    const connection = this.#connection;
    const stop = (): void => {
      connection.close();
      server.dispose();
    };
    return { ended: server.ended, stop };
  }

  async #onConnected(): Promise<void> {
    const connection = this.#connection;
    if (connection === null) return;
    const { agent, initializeResponse } = connection;
    try {
      await this.sessions.onConnected({ agent, features: featuresOf(initializeResponse), isOpen: () => connection.isOpen() });
    } catch (error) {
      if (!isAuthRequired(error)) throw error;
      this.viewPublisher.publish({ type: "signIn", isNeeded: true, message: messageOf(error) });
    }
    this.#announceRestart();
    if (this.#isOwnServer) await this.serverSetup.checkSignIn(connection);
    this.#setStatus("ready", "");
    this.reportEditorState();
  }

  get #features(): AgentFeatures {
    return this.#connection === null ? EMPTY_VIEW.connection.features : featuresOf(this.#connection.initializeResponse);
  }

  get #isOwnServer(): boolean {
    return this.#connection?.initializeResponse.agentInfo?.name === AGENT_NAME;
  }

  /** Show a notice in the chat that the server stopped unexpectedly, and why. */
  #announceRestart(): void {
    const description = this.#lastFailure;
    this.#lastFailure = "";
    if (description === "") return;
    const title = t("The server stopped and was restarted.");
    const update = { sessionUpdate: "notice", severity: "warning", title, description } as const;
    this.viewPublisher.record(this.viewPublisher.shownSessionId, { type: "update", update });
  }

  #onDisconnected(): void {
    this.questions.cancel();
    this.terminals.dispose();
    this.sessions.onDisconnected();
    this.#connection?.close();
    this.#connection = null;
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
        this.viewPublisher.publish({ type: "signIn", isNeeded: true, message: this.#isOwnServer ? "" : message });
      },
      cancelQuestions: () => {
        this.questions.cancel(sessionId);
      },
      now: () => this.#services.now(),
    };
  }

  #onTurnChange(sessionId: string, isRunning: boolean): void {
    this.sessions.publishList();
    this.#publishState();
    if (isRunning) return;
    this.#inBackground(this.reviews.loaded?.endTurn(sessionId));
    this.#inBackground(this.sessions.refresh());
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

  #setStatus(status: ConnectionStatus, message: string): void {
    this.#status = status;
    this.#message = message;
    const initializeResponse = this.#connection?.initializeResponse;
    const agent = initializeResponse?.agentInfo?.title ?? initializeResponse?.agentInfo?.name ?? "";
    const offered = { signInMethods: this.signInMethods, canStoreKey: this.#isOwnServer, features: this.#features };
    this.viewPublisher.publish({ type: "connection", status, agent, message, ...offered });
    this.#publishState();
  }

  #publishState(): void {
    const { sessions, questions, questionAnnouncer, viewPublisher } = this;
    this.#services.onState({
      ...{ status: this.#status, message: this.#message, isRunning: sessions.isRunning },
      ...{ openQuestions: questions.openCount, askingTitle: questionAnnouncer.askingTitle },
      session: sessionDescriptionOf(viewPublisher.eventsOf(viewPublisher.shownSessionId)),
    });
  }
}
