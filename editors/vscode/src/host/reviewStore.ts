/**
 * Persists reviews across windows: the original texts of the files that the agent changed, per session.
 *
 * Defines the JSON format and the size limits. Changes that are too large are not saved, so their
 * review ends with the window.
 */
import { createHash } from "node:crypto";
import { isRecord } from "../shared/validation.js";
import type { TextStore } from "./ports.js";

const VERSION = 1;
const MAX_FILE_CHARACTERS = 1024 * 1024;
const MAX_TOTAL_CHARACTERS = 8 * MAX_FILE_CHARACTERS;

/**
 * One changed file, as saved (the field names are the file format); `left` is the fingerprint of
 * the agent's version.
 */
export interface SavedChange {
  readonly path: string;
  readonly before: string | null;
  readonly left: string;
}

export class ReviewStore {
  readonly #textStore: TextStore;
  /** Last saved text by session id, to skip writes without a change. */
  readonly #lastSaved = new Map<string, string>();

  constructor(textStore: TextStore) {
    this.#textStore = textStore;
  }

  /** Return the saved changes of a session; empty if there are none or the file is invalid. */
  async load(sessionId: string): Promise<readonly SavedChange[]> {
    const text = await this.#textStore.read(reviewFileName(sessionId));
    return text === null ? [] : parseChanges(text, sessionId);
  }

  async save(sessionId: string, changes: readonly SavedChange[]): Promise<void> {
    const saved = withinLimits(changes);
    if (saved.length === 0) return this.forget(sessionId);
    const text = JSON.stringify({ version: VERSION, sessionId, changes: saved });
    if (this.#lastSaved.get(sessionId) === text) return;
    await this.#textStore.write(reviewFileName(sessionId), text);
    this.#lastSaved.set(sessionId, text);
  }

  async forget(sessionId: string): Promise<void> {
    this.#lastSaved.delete(sessionId);
    await this.#textStore.remove(reviewFileName(sessionId));
  }
}

/** Return the SHA-256 of a text; empty for a missing file (null). */
export function fingerprintOf(text: string | null): string {
  return text === null ? "" : createHash("sha256").update(text).digest("hex");
}

/**
 * Return a safe name for the file of a session's review.
 *
 * Agents choose session ids freely, so an id such as `../x` must not become a path.
 */
export function reviewFileName(sessionId: string): string {
  return `${fingerprintOf(sessionId).slice(0, 32)}.json`;
}

/** Return the changes that fit the size limits, the smallest first. */
function withinLimits(changes: readonly SavedChange[]): SavedChange[] {
  const sizeOf = ({ before }: SavedChange): number => before?.length ?? 0;
  let remaining = MAX_TOTAL_CHARACTERS;
  return [...changes]
    .sort((one, other) => sizeOf(one) - sizeOf(other))
    .filter((change) => {
      remaining -= sizeOf(change);
      return remaining >= 0 && sizeOf(change) <= MAX_FILE_CHARACTERS;
    });
}

function parseChanges(text: string, sessionId: string): SavedChange[] {
  try {
    const saved: unknown = JSON.parse(text);
    if (!isRecord(saved) || saved["version"] !== VERSION || saved["sessionId"] !== sessionId) return [];
    const changes = saved["changes"];
    return Array.isArray(changes) ? changes.filter(isSavedChange) : [];
  } catch {
    return []; // incomplete JSON, e.g. after a crash
  }
}

function isSavedChange(value: unknown): value is SavedChange {
  if (!isRecord(value)) return false;
  const { path, before, left } = value as Partial<Record<keyof SavedChange, unknown>>;
  return typeof path === "string" && (before === null || typeof before === "string") && typeof left === "string";
}
