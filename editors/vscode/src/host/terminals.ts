/**
 * Commands that the agent runs in the editor's terminals.
 *
 * Owns the processes, their groups, what they printed and how they ended. Commands have no input:
 * one that asks would wait for ever. Refuses to know whether a command may run; the server has
 * asked.
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
import { childEnvironment } from "./environment.js";
import type { PanelTerminal, TerminalPanel } from "./ports.js";

const MOST_OUTPUT_BYTES = 1024 * 1024;
/** How long output may still come from what a command left running. */
const DRAINING_MILLISECONDS = 200;
/** How long a command may take to leave when it is told to. */
const KILLING_MILLISECONDS = 2000;
/** Output is passed on to the view together for so long. */
const PRINTING_MILLISECONDS = 50;

interface OfTerminal {
  readonly sessionId: string;
  readonly terminalId: string;
}

interface Running {
  readonly sessionId: string;
  readonly child: ChildProcess;
  readonly output: BoundedOutput;
  readonly panel: PanelTerminal;
  readonly ended: Promise<TerminalExitStatus>;
  exit: TerminalExitStatus | null;
}

export class Terminals {
  readonly #panel: TerminalPanel;
  readonly #publish: (sessionId: string, event: SessionEvent) => void;
  readonly #running = new Map<string, Running>();
  #created = 0;

  constructor(panel: TerminalPanel, publish: (sessionId: string, event: SessionEvent) => void) {
    this.#panel = panel;
    this.#publish = publish;
  }

  /** Start a command.
   *
   * @throws {RequestError} it cannot be started.
   */
  async create(request: CreateTerminalRequest): Promise<CreateTerminalResponse> {
    const child = spawn(request.command, request.args ?? [], {
      cwd: request.cwd ?? undefined,
      env: childEnvironment(process.env, environmentOf(request)),
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    await started(child, request.command);
    this.#created += 1;
    const id = `terminal-${String(this.#created)}`;
    this.#running.set(id, this.#listen(id, child, request));
    return { terminalId: id };
  }

  #listen(id: string, child: ChildProcess, request: CreateTerminalRequest): Running {
    const name = nameOf(request);
    const limit = Math.min(request.outputByteLimit ?? MOST_OUTPUT_BYTES, MOST_OUTPUT_BYTES);
    const panel = this.#panel.open(name, () => {
      end(child);
    });
    const output = new BoundedOutput(limit);
    const { sessionId } = request;
    const printer = new Printer((data) => {
      panel.print(data);
      this.#publish(sessionId, { type: "terminal", id, data, isCut: false });
    });
    const ended = exitOf(child).then((exit) => {
      printer.flush();
      running.exit = exit;
      panel.end(statusOf(exit));
      this.#publish(sessionId, { type: "terminalEnded", id, exit });
      return exit;
    });
    const running: Running = { sessionId, child, output, panel, ended, exit: null };
    for (const pipe of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder("utf8");
      pipe?.on("data", (chunk: Buffer) => {
        output.add(chunk);
        printer.add(decoder.write(chunk));
      });
    }
    this.#publish(sessionId, { type: "terminal", id, data: "", isCut: false });
    return running;
  }

  output(request: OfTerminal): TerminalOutputResponse {
    const { output, exit } = this.#find(request);
    const text = output.text();
    return { output: text, truncated: output.isTruncated, ...(exit && { exitStatus: exit }) };
  }

  wait(request: OfTerminal): Promise<TerminalExitStatus> {
    return this.#find(request).ended;
  }

  kill(request: OfTerminal): void {
    end(this.#find(request).child);
  }

  /** End the command, if it still runs, and forget it. */
  release(request: OfTerminal): void {
    const running = this.#find(request);
    this.#running.delete(request.terminalId);
    end(running.child);
    running.panel.release();
  }

  /** Show a terminal to the user; one that was released is not there any more. */
  show(id: string): void {
    this.#running.get(id)?.panel.show();
  }

  /** End a command because the user wants it. */
  stop(id: string): void {
    const running = this.#running.get(id);
    if (running !== undefined) end(running.child);
  }

  /** End everything that runs. */
  dispose(): void {
    for (const [terminalId, { sessionId }] of [...this.#running]) {
      this.release({ sessionId, terminalId });
    }
  }

  #find(request: OfTerminal): Running {
    const running = this.#running.get(request.terminalId);
    if (running?.sessionId !== request.sessionId) {
      throw RequestError.resourceNotFound(request.terminalId);
    }
    return running;
  }
}

/** Gathers output for a moment, so that a chatty command does not cost a message per line. */
class Printer {
  readonly #print: (data: string) => void;
  #pending = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(print: (data: string) => void) {
    this.#print = print;
  }

  add(data: string): void {
    this.#pending += data;
    this.#timer ??= setTimeout(() => {
      this.flush();
    }, PRINTING_MILLISECONDS);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending === "") return;
    const data = this.#pending;
    this.#pending = "";
    this.#print(data);
  }
}

/**
 * Return what a command is called: what a shell is given to run, without what only prepares that.
 *
 * Our server has it run as `env … bash -c "exec </dev/null; COMMAND"`.
 */
function nameOf({ command, args }: CreateTerminalRequest): string {
  const words = [command, ...(args ?? [])];
  const script = words.at(-2) === "-c" ? words.at(-1) : undefined;
  return script?.replace(/^exec <\/dev\/null; /, "") ?? words.join(" ");
}

function environmentOf(request: CreateTerminalRequest): Record<string, string> {
  return Object.fromEntries((request.env ?? []).map(({ name, value }) => [name, value]));
}

function started(child: ChildProcess, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => {
      reject(RequestError.internalError({ message: `${command}: ${error.message}` }));
    });
  });
}

/** Return how a command ended, once its output is there; what it left running is not waited for. */
function exitOf(child: ChildProcess): Promise<TerminalExitStatus> {
  return new Promise((resolve) => {
    child.once("exit", (exitCode, signal) => {
      const done = (): void => {
        resolve({ exitCode, signal });
      };
      child.once("close", done);
      setTimeout(done, DRAINING_MILLISECONDS);
    });
  });
}

function end(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  signalGroup(child, "SIGTERM");
  const timer = setTimeout(() => {
    signalGroup(child, "SIGKILL");
  }, KILLING_MILLISECONDS);
  child.once("exit", () => {
    clearTimeout(timer);
  });
}

/** Send a signal to a command and all that it started. */
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
    child.kill(signal); // its group is gone, or was never its own
  }
}

function statusOf(exit: TerminalExitStatus): string {
  if (typeof exit.signal === "string") return `ended by ${exit.signal}`;
  return `exit code ${String(exit.exitCode ?? "unknown")}`;
}
