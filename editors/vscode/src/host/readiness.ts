/** Waits until the agent is ready for a prompt, or until it is clear that it will not be. */
import type { ConnectionStatus } from "../shared/events.js";

const UNAVAILABLE: ReadonlySet<ConnectionStatus> = new Set(["untrusted", "noFolder", "missing", "failed"]);

export class Readiness {
  #status: ConnectionStatus = "starting";
  #waiting: ((isReady: boolean) => void)[] = [];

  update(status: ConnectionStatus): void {
    this.#status = status;
    if (status !== "ready" && !UNAVAILABLE.has(status)) return;
    for (const settle of this.#waiting.splice(0)) settle(status === "ready");
  }

  /** Resolve with whether the agent is ready; the chat shows why it is not. */
  wait(): Promise<boolean> {
    if (this.#status === "ready") return Promise.resolve(true);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
