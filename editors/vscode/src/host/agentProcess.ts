/**
 * One agent of the window: its process, which is kept running, its connection and its status.
 *
 * A window has one for each agent whose sessions it shows. What a status means for the sessions is up to the
 * controller.
 */
import type { ClientContext } from "@agentclientprotocol/sdk";
import type { AgentFeatures, ConnectionEvent, ConnectionStatus } from "../shared/events.js";
import { t } from "../shared/l10n.js";
import { EMPTY_VIEW } from "../shared/state.js";
import type { AgentChoice } from "./agentChoice.js";
import { OWN_AGENT, streamWithAgentId } from "./agentIds.js";
import { AGENT_NAME, connect, ConnectionClosedError, featuresOf, signInMethodsOf, type ClientHandlers, type Connection } from "./connection.js";
import type { HostServices } from "./hostServices.js";
import { Readiness } from "./readiness.js";
import type { ServerCommand } from "./serverLocator.js";
import { ServerSupervisor, type RunningServer } from "./serverSupervisor.js";

export interface AgentProcessContext {
  readonly services: Pick<HostServices, "editorWindow" | "isTrusted" | "locateServer" | "now" | "startServer" | "version" | "wait">;
  handlers(): ClientHandlers;
  /** Return the command with which an agent starts now. */
  commandToStart(serverCommand: ServerCommand, agentId: string): ServerCommand;
  onStatus(agent: AgentProcess): void;
  onConnected(agent: AgentProcess, connection: Connection): Promise<void>;
  onDisconnected(agent: AgentProcess): void;
}

export class AgentProcess {
  readonly id: string;
  /** Null for the own server. */
  readonly #choice: AgentChoice | null;
  readonly #context: AgentProcessContext;
  readonly #supervisor: ServerSupervisor;
  readonly #readiness = new Readiness();
  #connection: Connection | null = null;
  #serverCommand: ServerCommand | null = null;
  #status: ConnectionStatus = "starting";
  #message = "";
  /** Why it last stopped, until the chat has shown it. */
  #lastFailure = "";

  constructor(choice: AgentChoice | null, context: AgentProcessContext) {
    this.id = choice?.id ?? OWN_AGENT;
    this.#choice = choice;
    this.#context = context;
    const { services } = context;
    this.#supervisor = new ServerSupervisor({
      startServer: () => this.#startServer(),
      onStatus: (status, message) => {
        if (status === "restarting" && message !== "") this.#lastFailure = message;
        this.#setStatus(status, message);
      },
      onConnected: async () => {
        if (this.#connection === null) return;
        await context.onConnected(this, this.#connection);
        this.#setStatus("ready", "");
      },
      onDisconnected: () => {
        context.onDisconnected(this);
        this.#connection?.close();
        this.#connection = null;
      },
      wait: services.wait.bind(services),
      now: services.now.bind(services),
    });
  }

  get status(): ConnectionStatus {
    return this.#status;
  }

  get message(): string {
    return this.#message;
  }

  /** Null while it is not connected. */
  get connection(): Connection | null {
    return this.#connection;
  }

  /** How its program is started; null before it was found. */
  get serverCommand(): ServerCommand | null {
    return this.#serverCommand;
  }

  /** Its side of the connection.
   *
   * @throws if it is not connected.
   */
  get agent(): ClientContext {
    if (this.#connection === null) throw new Error(t("The server is not running."));
    return this.#connection.agent;
  }

  /** The name that it was chosen by, or by which it introduces itself; may be empty before it is connected. */
  get name(): string {
    const info = this.#connection?.initializeResponse.agentInfo;
    return this.#choice?.name ?? info?.title ?? info?.name ?? "";
  }

  get features(): AgentFeatures {
    return this.#connection === null ? EMPTY_VIEW.connection.features : featuresOf(this.#connection.initializeResponse);
  }

  /** Whether our own server runs, which another choice may start too. */
  get isOwnServer(): boolean {
    return this.#connection?.initializeResponse.agentInfo?.name === AGENT_NAME;
  }

  get connectionEvent(): ConnectionEvent {
    return {
      ...{ type: "connection", agentId: this.id, agent: this.name, status: this.#status, message: this.#message },
      ...{ signInMethods: signInMethodsOf(this.#connection?.initializeResponse.authMethods), canStoreKey: this.isOwnServer, features: this.features },
    };
  }

  get isStarted(): boolean {
    return this.#supervisor.isStarted;
  }

  /** Start it unless it was started before. */
  start(): void {
    if (!this.isStarted) this.restart();
  }

  /** Start or restart it, if the workspace is trusted and has a folder. */
  restart(): void {
    const { editorWindow, isTrusted } = this.#context.services;
    if (!isTrusted()) this.#setStatus("untrusted", "");
    else if (editorWindow.folders.length === 0) this.#setStatus("noFolder", "");
    else void this.#supervisor.start();
  }

  /** Resolve with whether it is ready, once that is clear. */
  whenReady(): Promise<boolean> {
    return this.#readiness.wait();
  }

  /** Return why it last stopped, once; empty if it did not. */
  takeLastFailure(): string {
    const failure = this.#lastFailure;
    this.#lastFailure = "";
    return failure;
  }

  dispose(): void {
    this.#supervisor.dispose();
  }

  async #startServer(): Promise<RunningServer> {
    const { services } = this.#context;
    this.#serverCommand = await services.locateServer(this.#choice);
    const serverCommand = this.#context.commandToStart(this.#serverCommand, this.id);
    const server = services.startServer(serverCommand, services.editorWindow.folders[0] ?? "");
    const exited = server.ended.then((reason) => Promise.reject(new Error(reason)));
    exited.catch(() => undefined); // rejects in every case; after `initialize`, `ended` reports the exit instead
    try {
      const initialized = connect(streamWithAgentId(server.stream, this.id), this.#context.handlers(), services.version);
      this.#connection = await Promise.race([initialized, exited]);
    } catch (error) {
      server.dispose();
      // A program that ends closes its output before it is gone: only its end tells the cause.
      throw error instanceof ConnectionClosedError ? new Error(await server.ended) : error;
    }
    const connection = this.#connection;
    const stop = (): void => {
      connection.close();
      server.dispose();
    };
    return { ended: server.ended, stop };
  }

  #setStatus(status: ConnectionStatus, message: string): void {
    this.#status = status;
    this.#message = message;
    this.#context.onStatus(this);
    this.#readiness.update(status);
  }
}
