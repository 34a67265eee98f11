/**
 * The host, joined: server, sessions, questions, files, terminals, review and view.
 *
 * Owns who is told of what; each part's own rules are in its module. This is the only place that
 * builds them.
 */
import { relative } from "node:path";
import type { ClientContext, RequestPermissionRequest, SessionNotification } from "@agentclientprotocol/sdk";
import type { AgentAbilities, ConnectionStatus, SessionEvent, SignInWay, ViewRequest } from "../shared/events.js";
import type { Intent } from "../shared/intents.js";
import { abilitiesOf, connect, signInWaysOf, type ClientHandlers, type Connection } from "./connection.js";
import { LOADING, reportContext } from "./contextReport.js";
import { Endings } from "./endings.js";
import { messageOf } from "./failures.js";
import { Files } from "./files.js";
import { Following } from "./following.js";
import { Hub } from "./hub.js";
import { carryOut } from "./intents.js";
import type { Launch } from "./locating.js";
import type { Desk } from "./ports.js";
import { Presence } from "./presence.js";
import { Questions } from "./questions.js";
import { ReviewArchive } from "./reviewArchive.js";
import { Reviewing } from "./reviewing.js";
import type { SessionSurroundings } from "./session.js";
import { Sessions, type AgentLink } from "./sessions.js";
import { signIn } from "./signingIn.js";
import { Supervisor, type Served } from "./supervisor.js";
import type { Surroundings } from "./surroundings.js";
import { Terminals } from "./terminals.js";

const NO_ABILITIES: AgentAbilities = {
  images: false,
  steer: false,
  list: false,
  load: false,
  delete: false,
  fork: false,
};

export class Controller {
  readonly hub: Hub;
  readonly questions: Questions;
  readonly terminals: Terminals;
  readonly reviewing: Reviewing;
  readonly following: Following;
  readonly presence: Presence;
  readonly sessions: Sessions;
  readonly endings: Endings;
  readonly desk: Desk;
  readonly #around: Surroundings;
  readonly #files: Files;
  readonly #supervisor: Supervisor;
  #connection: Connection | null = null;
  #launch: Launch | null = null;
  #status: ConnectionStatus = "starting";
  #message = "";
  /** Why the server ended last, until that is told. */
  #failure = "";
  #requests = 0;

  constructor(around: Surroundings, hub: Hub = new Hub()) {
    const { desk, memory, log } = around;
    const record = (sessionId: string, event: SessionEvent): void => {
      hub.record(sessionId, event);
    };
    this.#around = around;
    this.hub = hub;
    this.desk = desk;
    this.#files = new Files(around.documents, around.disk);
    this.questions = new Questions((sessionId, event) => {
      record(sessionId, event);
      this.#tellState();
    });
    this.terminals = new Terminals(around.panel, record);
    const label = (path: string): string => this.label(path);
    const archive = new ReviewArchive(around.drawer);
    this.reviewing = new Reviewing({ files: this.#files, archive, desk, label, publish: record });
    this.endings = new Endings(memory);
    this.following = new Following(desk, around.followsAtFirst());
    this.presence = new Presence({
      agent: () => this.#connection?.agent ?? null,
      problemsOf: (path) => around.problemsOf(path),
    });
    this.sessions = new Sessions({
      hub,
      memory,
      log,
      folders: () => desk.folders,
      surroundings: (sessionId, link) => this.#surround(sessionId, link),
      completed: (sessionId, told) => this.endings.restored(sessionId, told),
      onLoaded: (sessionId) => {
        this.#inBackground(this.reviewing.restore(sessionId));
      },
    });
    this.#supervisor = new Supervisor({
      serve: () => this.#serve(),
      onStatus: (status, message) => {
        if (status === "restarting" && message !== "") this.#failure = message;
        this.#setStatus(status, message);
      },
      onReady: () => this.#begin(),
      onLost: () => {
        this.#lose();
      },
      wait: (milliseconds) => around.wait(milliseconds),
      now: () => around.now(),
    });
    hub.tell({ type: "follow", isOn: this.following.isOn });
    this.#setStatus("starting", "");
  }

  /** Start the server if nothing speaks against it and it is not there. */
  start(): void {
    if (!this.#supervisor.isStarted) this.restart();
  }

  /** Start the server anew. */
  restart(): void {
    if (!this.#around.isTrusted()) this.#setStatus("untrusted", "");
    else if (this.desk.folders.length === 0) this.#setStatus("noFolder", "");
    else void this.#supervisor.start();
  }

  /** Do what the user wants; what fails is told. */
  async do(intent: Intent): Promise<void> {
    try {
      await carryOut(intent, this);
    } catch (error) {
      this.#around.log.error(`${intent.type}: ${messageOf(error)}`);
      await this.desk.tell(messageOf(error), []);
    }
  }

  /** Tell what the user looks at now. */
  look(): void {
    const glance = this.desk.glance();
    const { file, firstLine, lastLine, selectedText, problems } = glance;
    const hasSelection = selectedText !== "";
    this.hub.tell({
      type: "editor",
      file,
      label: file === "" ? "" : this.label(file),
      firstLine: hasSelection ? firstLine : 0,
      lastLine: hasSelection ? lastLine : 0,
      problems: problems.length,
    });
    this.presence.look(this.hub.shown, glance);
  }

  /** Have the view do something once. */
  request(what: ViewRequest): void {
    this.#requests += 1;
    this.hub.tell({ type: "request", what, number: this.#requests });
  }

  /** The agent's side of the connection.
   *
   * @throws the server is not there.
   */
  get agent(): ClientContext {
    if (this.#connection === null) throw new Error("The server is not there.");
    return this.#connection.agent;
  }

  /** The ways to sign in that the agent offers; none while it is not there. */
  get signInWays(): readonly SignInWay[] {
    return signInWaysOf(this.#connection?.greeting.authMethods);
  }

  async signIn(wayId: string): Promise<void> {
    const connection = this.#connection;
    if (connection === null || this.#launch === null) return;
    const result = await signIn(wayId, {
      agent: connection.agent,
      ways: connection.greeting.authMethods ?? [],
      launch: this.#launch,
      cwd: this.desk.folders[0] ?? "",
      desk: this.desk,
    });
    this.hub.tell({ type: "signIn", isNeeded: !result.isDone, message: result.isDone ? "" : result.message });
    if (result.isDone && result.needsRestart) this.restart();
  }

  /** Find out which instructions and skills are in force. */
  async refreshContext(): Promise<void> {
    const [cwd] = this.desk.folders;
    if (this.#launch === null || cwd === undefined) return;
    this.hub.tell(LOADING);
    this.hub.tell(await reportContext(this.#launch, cwd, this.#around.run));
  }

  setFollow(isOn: boolean): void {
    this.following.isOn = isOn;
    this.hub.tell({ type: "follow", isOn });
  }

  /** Return a path as the user calls it: within the workspace if it is there. */
  label(path: string): string {
    for (const folder of this.desk.folders) {
      const inside = relative(folder, path);
      if (inside !== "" && !inside.startsWith("..")) return inside;
    }
    return path;
  }

  dispose(): void {
    this.questions.cancel();
    this.terminals.dispose();
    this.presence.dispose();
    this.#supervisor.dispose();
    this.hub.dispose();
  }

  async #serve(): Promise<Served> {
    this.#launch = await this.#around.locate();
    const wire = this.#around.start(this.#launch, this.desk.folders[0] ?? "");
    const refused = wire.ended.then((reason) => Promise.reject(new Error(reason)));
    refused.catch(() => undefined); // it always comes: once the greeting is over, `ended` tells
    try {
      const greeted = connect(wire.stream, this.#handlers(), this.#around.version);
      this.#connection = await Promise.race([greeted, refused]);
    } catch (error) {
      wire.dispose();
      throw error;
    }
    const connection = this.#connection;
    const stop = (): void => {
      connection.close();
      wire.dispose();
    };
    return { ended: wire.ended, stop };
  }

  async #begin(): Promise<void> {
    const connection = this.#connection;
    if (connection === null) return;
    const { agent, greeting } = connection;
    await this.sessions.begin({ agent, can: abilitiesOf(greeting), isOpen: () => connection.isOpen() });
    this.#tellRestart();
    this.#setStatus("ready", "");
    this.look();
  }

  /** Say in the chat that the server had ended by itself, and why. */
  #tellRestart(): void {
    const description = this.#failure;
    this.#failure = "";
    if (description === "") return;
    const title = "The server had ended and was started again.";
    const update = { sessionUpdate: "notice", severity: "warning", title, description } as const;
    this.hub.record(this.hub.shown, { type: "update", update });
  }

  #lose(): void {
    this.questions.cancel();
    this.terminals.dispose();
    this.sessions.lose();
    this.#connection?.close();
    this.#connection = null;
  }

  #surround(sessionId: string, link: AgentLink): SessionSurroundings {
    return {
      agent: link.agent,
      canSteer: link.can.steer,
      isConnected: () => link.isOpen(),
      publish: (event) => {
        this.endings.note(sessionId, event);
        this.hub.record(sessionId, event);
      },
      onTurn: (isRunning) => {
        this.#onTurn(sessionId, isRunning);
      },
      onAuthRequired: (message) => {
        this.hub.tell({ type: "signIn", isNeeded: true, message });
      },
      cancelQuestions: () => {
        this.questions.cancel(sessionId);
      },
      now: () => this.#around.now(),
    };
  }

  #onTurn(sessionId: string, isRunning: boolean): void {
    this.sessions.tellList();
    this.#tellState();
    if (isRunning) return;
    this.#inBackground(this.reviewing.refresh(sessionId));
    this.#inBackground(this.sessions.refresh());
  }

  #handlers(): ClientHandlers {
    return {
      update: (notification) => {
        this.#update(notification);
      },
      permission: (request, signal) => this.#permission(request, signal),
      elicit: (request, signal) => this.questions.elicit(request, signal, this.hub.shown),
      elicitationCompleted: (id) => {
        this.questions.complete(id);
      },
      readFile: (request) => this.#files.read(request),
      writeFile: (request) =>
        this.#files.write(request, (sessionId, path, before) => {
          this.#inBackground(this.reviewing.wrote(sessionId, path, before));
          this.presence.wrote(sessionId, path);
        }),
      createTerminal: (request) => this.terminals.create(request),
      terminalOutput: (request) => this.terminals.output(request),
      waitForExit: (request) => this.terminals.wait(request),
      killTerminal: (request) => {
        this.terminals.kill(request);
      },
      releaseTerminal: (request) => {
        this.terminals.release(request);
      },
    };
  }

  #update(notification: SessionNotification): void {
    const { sessionId, update } = notification;
    this.sessions.update(notification);
    // What is told of the past, while a session is loaded, is no change of now.
    if (this.sessions.find(sessionId)?.isRunning !== true) return;
    this.#inBackground(this.reviewing.shown(sessionId, update));
    if (sessionId === this.hub.shown) this.#inBackground(this.following.follow(update));
  }

  /** Let something go on that nobody waits for; what fails is logged. */
  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#around.log.warn(messageOf(error));
    });
  }

  /** Look at the changes of the shown session again: files were saved. */
  refreshChanges(): void {
    if (this.hub.shown !== "") this.#inBackground(this.reviewing.refresh(this.hub.shown));
  }

  #permission(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): ReturnType<ClientHandlers["permission"]> {
    const answer = this.questions.permission(request, signal);
    const title = request.toolCall.title ?? "Run a tool";
    this.#around.onPermission(this.questions.newest, title);
    return answer;
  }

  #setStatus(status: ConnectionStatus, message: string): void {
    this.#status = status;
    this.#message = message;
    const greeting = this.#connection?.greeting;
    const agent = greeting?.agentInfo?.title ?? greeting?.agentInfo?.name ?? "";
    const can = greeting === undefined ? NO_ABILITIES : abilitiesOf(greeting);
    const { signInWays } = this;
    this.hub.tell({ type: "connection", status, agent, message, signInWays, can });
    this.#tellState();
  }

  #tellState(): void {
    this.#around.onState({
      status: this.#status,
      message: this.#message,
      isRunning: this.sessions.isRunning,
      waiting: this.questions.waiting,
    });
  }
}
