/**
 * The review of what the agent changed, per session.
 *
 * Owns when the list of changes is told anew and kept, and the questions before something would be
 * lost.
 */
import { basename } from "node:path";
import type { SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "../shared/events.js";
import { Changes } from "./changes.js";
import type { Files } from "./files.js";
import type { Desk } from "./ports.js";
import type { KeptChange, ReviewArchive } from "./reviewArchive.js";

export interface ReviewingParts {
  readonly files: Files;
  readonly archive: ReviewArchive;
  readonly desk: Desk;
  label(path: string): string;
  publish(sessionId: string, event: SessionEvent): void;
}

export class Reviewing {
  readonly #parts: ReviewingParts;
  readonly #changes = new Map<string, Changes>();
  /** One step at a time: two at once would work from the same texts. */
  #line: Promise<void> = Promise.resolve();

  constructor(parts: ReviewingParts) {
    this.#parts = parts;
  }

  /** Note a write of the agent's that went through us. */
  wrote(sessionId: string, path: string, before: string | null): Promise<void> {
    return this.#inTurn(async () => {
      await this.#of(sessionId).note(path, before);
      await this.#tell(sessionId);
    });
  }

  /** Note what a finished call shows that did not go through us. */
  shown(sessionId: string, update: SessionUpdate): Promise<void> {
    const diffs = finishedDiffs(update);
    if (diffs.length === 0) return Promise.resolve();
    return this.#inTurn(async () => {
      for (const { path, oldText, newText } of diffs) {
        await this.#of(sessionId).noteShown(path, oldText ?? null, newText);
      }
      await this.#tell(sessionId);
    });
  }

  /** Look at the files again: a turn has ended, or the user has edited. */
  refresh(sessionId: string): Promise<void> {
    return this.#inTurn(() => this.#tell(sessionId));
  }

  /** Take up what was not settled when the session was open the last time. */
  restore(sessionId: string): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#changes.has(sessionId)) {
        const kept = await this.#parts.archive.load(sessionId);
        if (kept.length === 0) return;
        this.#changes.set(sessionId, this.#made(kept));
      }
      await this.#tell(sessionId);
    });
  }

  keep(sessionId: string, path: string, hunkId: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#of(sessionId).keep(path, hunkId);
      await this.#tell(sessionId);
    });
  }

  keepAll(sessionId: string): Promise<void> {
    return this.#inTurn(async () => {
      const changes = this.#of(sessionId);
      for (const path of changes.paths) await changes.keep(path, "");
      await this.#tell(sessionId);
    });
  }

  revert(sessionId: string, path: string, hunkId: string): Promise<void> {
    return this.#inTurn(async () => {
      const changes = this.#of(sessionId);
      if (hunkId === "" && !(await this.#mayRevert(changes, [path]))) return;
      await changes.revert(path, hunkId);
      await this.#tell(sessionId);
    });
  }

  revertAll(sessionId: string): Promise<void> {
    return this.#inTurn(async () => {
      const changes = this.#of(sessionId);
      const { paths } = changes;
      const question = `Revert all changes in ${String(paths.length)} files?`;
      if (paths.length > 1 && !(await this.#parts.desk.confirm(question, "Revert All"))) return;
      if (!(await this.#mayRevert(changes, paths))) return;
      for (const path of paths) await changes.revert(path, "");
      await this.#tell(sessionId);
    });
  }

  /** Show a changed file beside what it was. */
  open(sessionId: string, path: string): Promise<void> {
    return this.#parts.desk.openDiff(path, this.#of(sessionId).before(path) ?? "", null);
  }

  forget(sessionId: string): Promise<void> {
    return this.#inTurn(() => {
      this.#changes.delete(sessionId);
      return this.#parts.archive.forget(sessionId);
    });
  }

  async #mayRevert(changes: Changes, paths: readonly string[]): Promise<boolean> {
    for (const path of paths) {
      if (!(await changes.isTouched(path))) continue;
      const question = `${basename(path)} was also changed by you or a command since. Revert it all?`;
      if (!(await this.#parts.desk.confirm(question, "Revert"))) return false;
    }
    return true;
  }

  #of(sessionId: string): Changes {
    const changes = this.#changes.get(sessionId) ?? this.#made([]);
    this.#changes.set(sessionId, changes);
    return changes;
  }

  #made(kept: readonly KeptChange[]): Changes {
    return new Changes(this.#parts.files, (path) => this.#parts.label(path), kept);
  }

  /** Tell how the changes stand, and keep them: a window may end at any moment. */
  async #tell(sessionId: string): Promise<void> {
    const changes = this.#changes.get(sessionId);
    if (changes === undefined) return;
    this.#parts.publish(sessionId, { type: "changes", files: await changes.list() });
    await this.#parts.archive.save(sessionId, changes.kept);
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#line.then(step);
    this.#line = done.catch(() => undefined); // whoever asked is told; the next step goes on
    return done;
  }
}

type Diff = Extract<ToolCallContent, { type: "diff" }>;

function finishedDiffs(update: SessionUpdate): Diff[] {
  if (update.sessionUpdate !== "tool_call_update" || update.status !== "completed") return [];
  return (update.content ?? []).filter((part): part is Diff => part.type === "diff");
}
