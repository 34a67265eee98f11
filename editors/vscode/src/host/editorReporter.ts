/**
 * Notifies the agent about the user's editor: `_hermes/active_file` and `_hermes/diagnostics`.
 *
 * Diagnostics are sent for files that the agent has written. If no checker reports within the timeout,
 * the current diagnostics are sent anyway, because the agent waits for them after a write.
 */
import type { ClientContext } from "@agentclientprotocol/sdk";
import { ACTIVE_FILE_METHOD, DIAGNOSTICS_METHOD } from "./methodNames.js";
import type { EditorEvent } from "../shared/events.js";
import type { EditorSnapshot, Problem } from "./ports.js";

/** How long to wait for a checker before the current diagnostics are sent. */
const DIAGNOSTICS_TIMEOUT_MILLISECONDS = 800;
/**
 * The active file is sent once it was unchanged for this long, so that switching through files
 * sends little.
 */
const ACTIVE_FILE_DEBOUNCE_MILLISECONDS = 150;

export interface EditorReporterContext {
  /** The connected agent of a session. */
  agent(sessionId: string): ClientContext | null;
  problemsOf(path: string): readonly Problem[];
}

export class EditorReporter {
  readonly #context: EditorReporterContext;
  /** Ids of the sessions that wrote a file, by its path. */
  readonly #writers = new Map<string, Set<string>>();
  readonly #diagnosticTimers = new Map<string, NodeJS.Timeout>();
  #activeFileTimer: NodeJS.Timeout | undefined;
  #lastActiveFile = "";

  constructor(context: EditorReporterContext) {
    this.#context = context;
  }

  /** Send the active file after a delay: the editor, the selection or the shown session changed. */
  scheduleActiveFile(sessionId: string, snapshot: EditorSnapshot): void {
    clearTimeout(this.#activeFileTimer);
    this.#activeFileTimer = setTimeout(() => {
      this.#sendActiveFile(sessionId, snapshot);
    }, ACTIVE_FILE_DEBOUNCE_MILLISECONDS);
  }

  /** Send the active file at once, because a prompt follows and must arrive after it. */
  sendActiveFileNow(sessionId: string, snapshot: EditorSnapshot): void {
    clearTimeout(this.#activeFileTimer);
    this.#sendActiveFile(sessionId, snapshot);
  }

  /** Send a file's diagnostics when they change or the timeout expires: the agent wrote it. */
  onFileWritten(sessionId: string, path: string): void {
    const writers = this.#writers.get(path) ?? new Set();
    this.#writers.set(path, writers.add(sessionId));
    clearTimeout(this.#diagnosticTimers.get(path));
    const timer = setTimeout(() => {
      this.onDiagnosticsChanged([path]);
    }, DIAGNOSTICS_TIMEOUT_MILLISECONDS);
    this.#diagnosticTimers.set(path, timer);
  }

  /** Send the diagnostics of files to the sessions that wrote them. */
  onDiagnosticsChanged(paths: readonly string[]): void {
    for (const path of paths) {
      clearTimeout(this.#diagnosticTimers.get(path));
      this.#diagnosticTimers.delete(path);
      for (const sessionId of this.#writers.get(path) ?? []) this.#sendDiagnostics(sessionId, path);
    }
  }

  dispose(): void {
    clearTimeout(this.#activeFileTimer);
    for (const timer of this.#diagnosticTimers.values()) clearTimeout(timer);
  }

  #sendActiveFile(sessionId: string, { file, firstLine }: EditorSnapshot): void {
    const line = Math.max(firstLine, 1);
    const activeFile = JSON.stringify([sessionId, file, line]);
    if (sessionId === "" || file === "" || activeFile === this.#lastActiveFile) return;
    this.#lastActiveFile = activeFile;
    this.#notify(ACTIVE_FILE_METHOD, { sessionId, path: file, line });
  }

  #sendDiagnostics(sessionId: string, path: string): void {
    const items = this.#context.problemsOf(path);
    this.#notify(DIAGNOSTICS_METHOD, { sessionId, path, items });
  }

  #notify(method: string, params: { readonly sessionId: string; readonly [name: string]: unknown }): void {
    // Errors are ignored: a lost connection is reported by its own close event.
    this.#context.agent(params.sessionId)?.notify(method, params).catch(() => undefined);
  }
}

/** Return what the view shows of the active editor. */
export function editorEventOf(snapshot: EditorSnapshot, label: string, isInWorkspace: boolean): EditorEvent {
  const { file, selectedText, problems } = snapshot;
  const [firstLine, lastLine] = selectedText === "" ? [0, 0] : [snapshot.firstLine, snapshot.lastLine];
  return { type: "editor", file, label, isInWorkspace, firstLine, lastLine, problems: problems.length };
}
