/**
 * Keeps a server running.
 *
 * Owns when it is started again, how long that waits and when it is given up. Refuses to know how a
 * server is started and what is done with it.
 */
import type { ConnectionStatus } from "../shared/events.js";
import { messageOf } from "./failures.js";
import { ServerMissingError } from "./locating.js";

/** A server that serves. `ended` resolves with why it does so no more. */
export interface Served {
  readonly ended: Promise<string>;
  stop(): void;
}

export interface Supervised {
  /** Start a server and greet it. */
  serve(): Promise<Served>;
  onStatus(status: ConnectionStatus, message: string): void;
  onReady(): Promise<void>;
  onLost(): void;
  wait(milliseconds: number): Promise<void>;
  now(): number;
}

const FIRST_WAIT_MILLISECONDS = 500;
const LONGEST_WAIT_MILLISECONDS = 30_000;
const MOST_FAILURES = 6;
/** A server that ran so long had started well: its end is the first failure again. */
const WELL_MILLISECONDS = 60_000;

export class Supervisor {
  readonly #supervised: Supervised;
  /** Counts starts and stops; whoever runs for an earlier one leaves. */
  #generation = 0;
  #served: Served | null = null;

  constructor(supervised: Supervised) {
    this.#supervised = supervised;
  }

  get isStarted(): boolean {
    return this.#generation > 0;
  }

  /** Start the server, anew if it runs; resolves when it is given up or stopped. */
  async start(): Promise<void> {
    this.stop();
    const generation = this.#generation;
    let failures = 0;
    while (generation === this.#generation) {
      this.#supervised.onStatus(failures === 0 ? "starting" : "restarting", "");
      const startedAt = this.#supervised.now();
      const reason = await this.#serveOnce(generation);
      if (generation !== this.#generation) return;
      if (reason === null) return;
      const wasWell = this.#supervised.now() - startedAt > WELL_MILLISECONDS;
      failures = wasWell ? 1 : failures + 1;
      if (failures > MOST_FAILURES) {
        this.#supervised.onStatus("failed", reason);
        return;
      }
      this.#supervised.onStatus("restarting", reason);
      await this.#supervised.wait(waitFor(failures));
    }
  }

  stop(): void {
    this.#generation += 1;
    const served = this.#served;
    this.#served = null;
    if (served === null) return;
    served.stop();
    this.#supervised.onLost();
  }

  dispose(): void {
    this.stop();
  }

  /** Serve until the server ends; return why it did, null if there is none to start. */
  async #serveOnce(generation: number): Promise<string | null> {
    try {
      const served = await this.#supervised.serve();
      if (generation !== this.#generation) {
        served.stop();
        return "";
      }
      this.#served = served;
      await this.#supervised.onReady();
      const reason = await served.ended;
      if (generation === this.#generation) {
        this.#served = null;
        this.#supervised.onLost();
      }
      return reason;
    } catch (error) {
      if (!(error instanceof ServerMissingError)) return this.#failed(generation, error);
      if (generation === this.#generation) this.#supervised.onStatus("missing", error.message);
      return null;
    }
  }

  #failed(generation: number, error: unknown): string {
    if (generation === this.#generation && this.#served !== null) {
      this.#served.stop();
      this.#served = null;
      this.#supervised.onLost();
    }
    return messageOf(error);
  }
}

/** Return how long to wait after so many failures in a row, in milliseconds. */
export function waitFor(failures: number): number {
  return Math.min(FIRST_WAIT_MILLISECONDS * 2 ** (failures - 1), LONGEST_WAIT_MILLISECONDS);
}
