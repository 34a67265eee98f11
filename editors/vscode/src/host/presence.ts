/**
 * What the agent is told of the user's editor without being asked.
 *
 * Owns when `_hermes/active_file` and `_hermes/diagnostics` are sent. Problems are told of files that
 * the agent has written; a written file without news is told of as well, for the agent waits.
 */
import type { ClientContext } from "@agentclientprotocol/sdk";
import { ACTIVE_FILE_METHOD, DIAGNOSTICS_METHOD } from "./connection.js";
import type { Glance, Problem } from "./ports.js";

/** How long a checker may take before a written file is said to be as it is. */
const CHECKING_MILLISECONDS = 800;
/** The user passes files quickly; where they stay for so long is told. */
const MOVING_MILLISECONDS = 150;

export interface PresenceParts {
  agent(): ClientContext | null;
  problemsOf(path: string): readonly Problem[];
}

export class Presence {
  readonly #parts: PresenceParts;
  /** The sessions that wrote a file, by its path. */
  readonly #writers = new Map<string, Set<string>>();
  readonly #checking = new Map<string, NodeJS.Timeout>();
  #moving: NodeJS.Timeout | undefined;
  #lastTold = "";

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  /** The user looks at something, or another session is shown. */
  look(sessionId: string, glance: Glance): void {
    clearTimeout(this.#moving);
    this.#moving = setTimeout(() => {
      this.#tellPlace(sessionId, glance);
    }, MOVING_MILLISECONDS);
  }

  /** Tell at once where the user is: a prompt follows. */
  lookNow(sessionId: string, glance: Glance): void {
    clearTimeout(this.#moving);
    this.#tellPlace(sessionId, glance);
  }

  /** The agent wrote a file: what is wrong with it now is told when it is known. */
  wrote(sessionId: string, path: string): void {
    const writers = this.#writers.get(path) ?? new Set();
    this.#writers.set(path, writers.add(sessionId));
    clearTimeout(this.#checking.get(path));
    const timer = setTimeout(() => {
      this.checked([path]);
    }, CHECKING_MILLISECONDS);
    this.#checking.set(path, timer);
  }

  /** There is news of what is wrong with files. */
  checked(paths: readonly string[]): void {
    for (const path of paths) {
      clearTimeout(this.#checking.get(path));
      this.#checking.delete(path);
      for (const sessionId of this.#writers.get(path) ?? []) this.#tellProblems(sessionId, path);
    }
  }

  dispose(): void {
    clearTimeout(this.#moving);
    for (const timer of this.#checking.values()) clearTimeout(timer);
  }

  #tellPlace(sessionId: string, { file, firstLine }: Glance): void {
    const line = Math.max(firstLine, 1);
    const place = JSON.stringify([sessionId, file, line]);
    if (sessionId === "" || file === "" || place === this.#lastTold) return;
    this.#lastTold = place;
    this.#tell(ACTIVE_FILE_METHOD, { sessionId, path: file, line });
  }

  #tellProblems(sessionId: string, path: string): void {
    const items = this.#parts.problemsOf(path);
    this.#tell(DIAGNOSTICS_METHOD, { sessionId, path, items });
  }

  #tell(method: string, params: object): void {
    // A wire that is cut is told by its own end; nobody waits for this.
    this.#parts.agent()?.notify(method, params).catch(() => undefined);
  }
}
