/**
 * Keeps a server running.
 *
 * Restarts it with exponential backoff and gives up after too many failures in a row. The hooks start
 * the server and use it.
 */
import type { ConnectionStatus } from "../shared/events.js";
import { messageOf } from "./errors.js";
import { ServerMissingError } from "./serverLocator.js";

/** A running server. `ended` resolves with the reason why it stopped. */
export interface RunningServer {
  readonly ended: Promise<string>;
  stop(): void;
}

export interface SupervisorHooks {
  /** Start a server and initialize the connection. */
  startServer(): Promise<RunningServer>;
  onStatus(status: ConnectionStatus, message: string): void;
  onConnected(): Promise<void>;
  onDisconnected(): void;
  wait(milliseconds: number): Promise<void>;
  now(): number;
}

const INITIAL_BACKOFF_MILLISECONDS = 500;
const MAX_BACKOFF_MILLISECONDS = 30_000;
const MAX_FAILURES = 6;
/** A server that ran this long counts as stable: its exit is counted as the first failure. */
const STABLE_MILLISECONDS = 60_000;

export class ServerSupervisor {
  readonly #hooks: SupervisorHooks;
  /**
   * Incremented by every start and stop.
   *
   * A loop of an older generation must exit: without this check, a restart during a backoff would run
   * two servers.
   */
  #generation = 0;
  #server: RunningServer | null = null;

  constructor(hooks: SupervisorHooks) {
    this.#hooks = hooks;
  }

  get isStarted(): boolean {
    return this.#generation > 0;
  }

  /** Start the server, stopping a running one. Resolves when it is stopped or the supervisor gives up. */
  async start(): Promise<void> {
    this.stop();
    const generation = this.#generation;
    let failures = 0;
    let reason: string | null = "";
    while (generation === this.#generation) {
      this.#hooks.onStatus(failures === 0 ? "starting" : "restarting", reason);
      const startedAt = this.#hooks.now();
      reason = await this.#runOnce(generation);
      if (generation !== this.#generation) return;
      if (reason === null) return;
      const wasStable = this.#hooks.now() - startedAt > STABLE_MILLISECONDS;
      failures = wasStable ? 1 : failures + 1;
      if (failures > MAX_FAILURES) {
        this.#hooks.onStatus("failed", reason);
        return;
      }
      this.#hooks.onStatus("restarting", reason);
      await this.#hooks.wait(backoffMilliseconds(failures));
    }
  }

  stop(): void {
    this.#generation += 1;
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.stop();
    this.#hooks.onDisconnected();
  }

  dispose(): void {
    this.stop();
  }

  /** Run the server until it stops; return the reason, or null if no server program was found. */
  async #runOnce(generation: number): Promise<string | null> {
    try {
      const server = await this.#hooks.startServer();
      if (generation !== this.#generation) {
        server.stop();
        return "";
      }
      this.#server = server;
      await this.#hooks.onConnected();
      const reason = await server.ended;
      if (generation === this.#generation) {
        this.#server = null;
        this.#hooks.onDisconnected();
      }
      return reason;
    } catch (error) {
      if (!(error instanceof ServerMissingError)) return this.#onFailure(generation, error);
      if (generation === this.#generation) this.#hooks.onStatus("missing", error.message);
      return null;
    }
  }

  #onFailure(generation: number, error: unknown): string {
    if (generation === this.#generation && this.#server !== null) {
      this.#server.stop();
      this.#server = null;
      this.#hooks.onDisconnected();
    }
    return messageOf(error);
  }
}

/** Return the delay before the next start, in milliseconds, after this many failures in a row. */
export function backoffMilliseconds(failures: number): number {
  return Math.min(INITIAL_BACKOFF_MILLISECONDS * 2 ** (failures - 1), MAX_BACKOFF_MILLISECONDS);
}
