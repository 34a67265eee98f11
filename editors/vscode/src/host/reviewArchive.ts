/**
 * Reviews that outlive the window: what files were before the agent changed them, per session.
 *
 * Owns the form in which they are kept and how much of it: what is too large is left out, and its
 * review ends with the window. Refuses to know where they are kept.
 */
import { createHash } from "node:crypto";
import { isRecord } from "../shared/intents.js";
import type { Drawer } from "./ports.js";

const VERSION = 1;
const MOST_CHARACTERS_OF_A_FILE = 1024 * 1024;
const MOST_CHARACTERS = 8 * MOST_CHARACTERS_OF_A_FILE;

/** A file that differs from what it was; `left` is the fingerprint of what the agent left. */
export interface KeptChange {
  readonly path: string;
  readonly before: string | null;
  readonly left: string;
}

export class ReviewArchive {
  readonly #drawer: Drawer;
  /** What was written last, by session: the same is not written again. */
  readonly #written = new Map<string, string>();

  constructor(drawer: Drawer) {
    this.#drawer = drawer;
  }

  /** Return what is kept of a session; nothing where there is nothing, or nothing that is ours. */
  async load(sessionId: string): Promise<readonly KeptChange[]> {
    const text = await this.#drawer.read(nameOf(sessionId));
    return text === null ? [] : changesIn(text, sessionId);
  }

  async save(sessionId: string, changes: readonly KeptChange[]): Promise<void> {
    const kept = fitting(changes);
    if (kept.length === 0) return this.forget(sessionId);
    const text = JSON.stringify({ version: VERSION, sessionId, changes: kept });
    if (this.#written.get(sessionId) === text) return;
    await this.#drawer.write(nameOf(sessionId), text);
    this.#written.set(sessionId, text);
  }

  async forget(sessionId: string): Promise<void> {
    this.#written.delete(sessionId);
    await this.#drawer.remove(nameOf(sessionId));
  }
}

/** Return what tells a text from another; empty for a file that is not there. */
export function fingerprintOf(text: string | null): string {
  return text === null ? "" : createHash("sha256").update(text).digest("hex");
}

/** An agent names its sessions as it likes: a file is not named so. */
function nameOf(sessionId: string): string {
  return `${fingerprintOf(sessionId).slice(0, 32)}.json`;
}

/** Return the changes that there is room for, the smallest first. */
function fitting(changes: readonly KeptChange[]): KeptChange[] {
  const sizeOf = ({ before }: KeptChange): number => before?.length ?? 0;
  let room = MOST_CHARACTERS;
  return [...changes]
    .sort((one, other) => sizeOf(one) - sizeOf(other))
    .filter((change) => {
      room -= sizeOf(change);
      return room >= 0 && sizeOf(change) <= MOST_CHARACTERS_OF_A_FILE;
    });
}

function changesIn(text: string, sessionId: string): KeptChange[] {
  try {
    const kept: unknown = JSON.parse(text);
    if (!isRecord(kept) || kept["version"] !== VERSION || kept["sessionId"] !== sessionId) return [];
    const changes = kept["changes"];
    return Array.isArray(changes) ? changes.filter(isChange) : [];
  } catch {
    return []; // half of a text, from a machine that went down
  }
}

function isChange(value: unknown): value is KeptChange {
  if (!isRecord(value)) return false;
  const { path, before, left } = value as Partial<Record<keyof KeptChange, unknown>>;
  return typeof path === "string" && (before === null || typeof before === "string") && typeof left === "string";
}
