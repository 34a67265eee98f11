/**
 * The first run: installs the server, asks for an API key, and starts the demo.
 *
 * Nothing is installed or stored before the user presses a button for it.
 */
import { methods } from "@agentclientprotocol/sdk";
import type { WindowEvent } from "../shared/events.js";
import { OWN_AGENT } from "./agentIds.js";
import type { AgentProcess } from "./agentProcess.js";
import type { Connection } from "./connection.js";
import { isAuthRequired } from "./errors.js";
import type { HostServices } from "./hostServices.js";
import type { ServerCommand } from "./serverLocator.js";
import { signIn } from "./signIn.js";

const DEMO_MODEL = "scripted:demo";

export interface ServerSetupContext {
  readonly services: Pick<HostServices, "editorWindow" | "storeKey" | "locateUv">;
  /** The agent of the shown session. */
  agent(): Pick<AgentProcess, "serverCommand" | "status" | "restart">;
  /** Publish an event of an agent. */
  publish(agentId: string, event: WindowEvent): void;
}

export class ServerSetup {
  readonly #context: ServerSetupContext;
  /** Whether the server runs with its scripted demo instead of a model. */
  #isDemo = false;

  constructor(context: ServerSetupContext) {
    this.#context = context;
  }

  /** Return the command with which an agent starts now. */
  commandToStart(serverCommand: ServerCommand, agentId: string): ServerCommand {
    if (!this.#isDemo || agentId !== OWN_AGENT) return serverCommand;
    return { ...serverCommand, serveArguments: [...serverCommand.serveArguments, "--model", DEMO_MODEL] };
  }

  /**
   * Ask our own server whether it has a key, so that the chat asks for one at once.
   *
   * Other agents must not be asked: some open a page in the browser.
   */
  async checkSignIn(agentId: string, { agent, initializeResponse }: Connection): Promise<void> {
    const method = initializeResponse.authMethods?.find((each) => !("type" in each));
    if (method === undefined) return;
    try {
      await agent.request(methods.agent.authenticate, { methodId: method.id });
      this.#context.publish(agentId, { type: "signIn", isNeeded: false, message: "" });
    } catch (error) {
      if (!isAuthRequired(error)) throw error;
      this.#context.publish(agentId, { type: "signIn", isNeeded: true, message: "" });
    }
  }

  /** Sign in with one of an agent's methods. */
  async signIn(methodId: string, agentProcess: AgentProcess): Promise<void> {
    const { id, connection, serverCommand } = agentProcess;
    if (serverCommand === null || connection === null) return;
    const { agent, initializeResponse } = connection;
    const { editorWindow } = this.#context.services;
    const result = await signIn(methodId, {
      agent,
      authMethods: initializeResponse.authMethods ?? [],
      serverCommand,
      cwd: editorWindow.folders[0] ?? "",
      editorWindow,
    });
    this.#context.publish(id, { type: "signIn", isNeeded: !result.isDone, message: result.isDone ? "" : result.message });
    if (result.isDone && result.needsRestart) agentProcess.restart();
  }

  /** Ask for an API key, and restart the server with it. */
  async enterKey(): Promise<void> {
    const agent = this.#context.agent();
    if (agent.serverCommand === null) return;
    const { enterKey } = await import("./firstRun.js");
    if (!(await enterKey(agent.serverCommand, this.#context.services))) return;
    this.#isDemo = false;
    agent.restart(); // the models to choose from depend on the provider
  }

  /** Install the server, and start it. */
  async installServer(): Promise<void> {
    const { installServer } = await import("./firstRun.js");
    if (await installServer(this.#context.services)) this.#context.agent().restart();
  }

  /** Run the server with its scripted demo, which needs no key; install it first if it is missing. */
  async tryDemo(): Promise<void> {
    this.#isDemo = true;
    const agent = this.#context.agent();
    if (agent.status === "missing") await this.installServer();
    else agent.restart();
  }
}
