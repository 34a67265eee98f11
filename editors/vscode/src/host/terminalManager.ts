/**
 * Serves the agent's `terminal/*` requests: runs commands and shows them in the editor's terminals.
 *
 * Manages the processes with their process groups, output and exit status. Commands have no standard
 * input, because a command that prompts would hang. The server asks for permission before it creates a
 * terminal, so none is checked here.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import {
  RequestError,
  type CreateTerminalRequest,
  type CreateTerminalResponse,
  type TerminalExitStatus,
  type TerminalOutputResponse,
} from "@agentclientprotocol/sdk";
import type { SessionEvent } from "../shared/events.js";
import { BoundedOutput } from "./boundedOutput.js";
import type { ClientHandlers, TerminalRef } from "./connection.js";
import { childEnvironment } from "./environment.js";
import type { PanelTerminal, TerminalPanel } from "./ports.js";
import { t } from "../shared/l10n.js";

const MAX_OUTPUT_BYTES = 1024 * 1024;
/** How long to wait for output after a command exits. Background children may hold its pipes open for ever. */
const DRAIN_MILLISECONDS = 200;
/** How long a command may take to exit after SIGTERM, before SIGKILL. */
const KILL_GRACE_MILLISECONDS = 2000;
/** Output is collected for this long before it is passed on. */
const BATCH_MILLISECONDS = 50;

interface RunningCommand {
  readonly sessionId: string;
  readonly child: ChildProcess;
  readonly output: BoundedOutput;
  readonly panel: PanelTerminal;
  readonly ended: Promise<TerminalExitStatus>;
  exit: TerminalExitStatus | null;
}

type TerminalHandlers = Pick<
  ClientHandlers,
  "createTerminal" | "terminalOutput" | "waitForExit" | "killTerminal" | "releaseTerminal"
>;

export class TerminalManager {
  readonly #panel: TerminalPanel;
  readonly #publish: (sessionId: string, event: SessionEvent) => void;
  readonly #commands = new Map<string, RunningCommand>();
  #createdCount = 0;

  constructor(panel: TerminalPanel, publish: (sessionId: string, event: SessionEvent) => void) {
    this.#panel = panel;
    this.#publish = publish;
  }

  /** The handlers of the agent's `terminal/...` requests. */
  get handlers(): TerminalHandlers {
    return {
      createTerminal: (request) => this.create(request),
      terminalOutput: (request) => this.output(request),
      waitForExit: (request) => this.wait(request),
      killTerminal: (request) => {
        this.kill(request);
      },
      releaseTerminal: (request) => {
        this.release(request);
      },
    };
  }

  /** Start a command.
   *
   * @throws {RequestError} if it cannot be started.
   */
  async create(request: CreateTerminalRequest): Promise<CreateTerminalResponse> {
    const child = spawn(request.command, request.args ?? [], {
      cwd: request.cwd ?? undefined,
      env: childEnvironment(process.env, environmentOf(request)),
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    await waitForSpawn(child, request.command);
    this.#createdCount += 1;
    const id = `terminal-${String(this.#createdCount)}`;
    this.#commands.set(id, this.#watch(id, child, request));
    return { terminalId: id };
  }

  #watch(id: string, child: ChildProcess, request: CreateTerminalRequest): RunningCommand {
    const name = commandTitle(request);
    const limit = Math.min(request.outputByteLimit ?? MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES);
    const panel = this.#panel.open(name, () => {
      terminate(child);
    });
    const output = new BoundedOutput(limit);
    const { sessionId } = request;
    const batcher = new OutputBatcher((data) => {
      panel.write(data);
      this.#publish(sessionId, { type: "terminal", id, data, isTruncated: false });
    });
    const ended = waitForExit(child).then((exit) => {
      batcher.flush();
      running.exit = exit;
      panel.end(describeExit(exit));
      this.#publish(sessionId, { type: "terminalEnded", id, exit });
      return exit;
    });
    const running: RunningCommand = { sessionId, child, output, panel, ended, exit: null };
    for (const pipe of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder("utf8");
      pipe?.on("data", (chunk: Buffer) => {
        output.add(chunk);
        batcher.add(decoder.write(chunk));
      });
    }
    this.#publish(sessionId, { type: "terminal", id, data: "", isTruncated: false });
    return running;
  }

  output(request: TerminalRef): TerminalOutputResponse {
    const { output, exit } = this.#find(request);
    const text = output.text();
    return { output: text, truncated: output.isTruncated, ...(exit && { exitStatus: exit }) };
  }

  wait(request: TerminalRef): Promise<TerminalExitStatus> {
    return this.#find(request).ended;
  }

  kill(request: TerminalRef): void {
    terminate(this.#find(request).child);
  }

  /** Terminate the command if it still runs, and forget it. */
  release(request: TerminalRef): void {
    const running = this.#find(request);
    this.#commands.delete(request.terminalId);
    terminate(running.child);
    running.panel.release();
  }

  /** Show a terminal to the user; a released terminal is ignored. */
  show(id: string): void {
    this.#commands.get(id)?.panel.show();
  }

  /** Terminate a command on the user's request. */
  stop(id: string): void {
    const running = this.#commands.get(id);
    if (running !== undefined) terminate(running.child);
  }

  /** Terminate the commands of some sessions, by default all. */
  dispose(isMatch: (sessionId: string) => boolean = () => true): void {
    for (const [terminalId, { sessionId }] of [...this.#commands]) {
      if (isMatch(sessionId)) this.release({ sessionId, terminalId });
    }
  }

  #find(request: TerminalRef): RunningCommand {
    const running = this.#commands.get(request.terminalId);
    if (running?.sessionId !== request.sessionId) {
      throw RequestError.resourceNotFound(request.terminalId);
    }
    return running;
  }
}

/** Batches output, so that a chatty command does not cost one message per line. */
class OutputBatcher {
  readonly #send: (data: string) => void;
  #pending = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (data: string) => void) {
    this.#send = send;
  }

  add(data: string): void {
    this.#pending += data;
    this.#timer ??= setTimeout(() => {
      this.flush();
    }, BATCH_MILLISECONDS);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending === "") return;
    const data = this.#pending;
    this.#pending = "";
    this.#send(data);
  }
}

/**
 * Return the title of a command: the script without the shell around it.
 *
 * Our server runs a command as `env … bash -c "exec </dev/null; COMMAND"`.
 */
function commandTitle({ command, args }: CreateTerminalRequest): string {
  const argv = [command, ...(args ?? [])];
  const script = argv.at(-2) === "-c" ? argv.at(-1) : undefined;
  return script?.replace(/^exec <\/dev\/null; /, "") ?? argv.join(" ");
}

function environmentOf(request: CreateTerminalRequest): Record<string, string> {
  return Object.fromEntries((request.env ?? []).map(({ name, value }) => [name, value]));
}

function waitForSpawn(child: ChildProcess, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => {
      reject(RequestError.internalError({ message: `${command}: ${error.message}` }));
    });
  });
}

/** Resolve with a command's exit status once its output is complete, or the drain time has passed. */
function waitForExit(child: ChildProcess): Promise<TerminalExitStatus> {
  return new Promise((resolve) => {
    child.once("exit", (exitCode, signal) => {
      const done = (): void => {
        resolve({ exitCode, signal });
      };
      child.once("close", done);
      setTimeout(done, DRAIN_MILLISECONDS);
    });
  });
}

function terminate(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  signalGroup(child, "SIGTERM");
  const timer = setTimeout(() => {
    signalGroup(child, "SIGKILL");
  }, KILL_GRACE_MILLISECONDS);
  child.once("exit", () => {
    clearTimeout(timer);
  });
}

/** Send a signal to a command and all its child processes. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (process.platform === "win32") {
    spawn("taskkill", ["/T", "/F", "/PID", String(pid)], { stdio: "ignore", windowsHide: true });
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    child.kill(signal); // the group no longer exists, or the child is not its leader
  }
}

function describeExit(exit: TerminalExitStatus): string {
  if (typeof exit.signal === "string") return t("ended by {0}", exit.signal);
  return t("exit code {0}", exit.exitCode ?? t("unknown"));
}
