/**
 * The server process.
 *
 * Starts it, exposes its pipes as a stream of messages, traces both directions and reports its exit.
 * Restarting it is up to `serverSupervisor`.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { ndJsonStream, type AnyMessage, type Stream } from "@agentclientprotocol/sdk";
import { childEnvironment, redactorOf } from "./environment.js";
import { messageOf } from "./errors.js";
import type { ServerCommand } from "./serverLocator.js";
import type { Disposable, Log } from "./ports.js";
import { t } from "../shared/l10n.js";

/** How long the server may take to exit after its standard input closes, before it is killed. */
const SHUTDOWN_MILLISECONDS = 3000;
/** Number of last lines of standard error that are reported when the server exits. */
const STDERR_TAIL_LINES = 5;

export interface ServerExit {
  /** Exit code, or that it was ended by a signal, as text. */
  readonly status: string;
  readonly stderrTail: string;
}

/** A started server. `exited` resolves once, also if the start failed. */
export interface ServerProcess extends Disposable {
  readonly stream: Stream;
  readonly exited: Promise<ServerExit>;
}

/** Start the server in a directory. */
export function startServer(serverCommand: ServerCommand, cwd: string, log: Log, isTraced: () => boolean): ServerProcess {
  const commandArguments = [...serverCommand.programArguments, ...serverCommand.serveArguments];
  const env = childEnvironment(process.env, serverCommand.environment);
  const redact = redactorOf(env);
  log.info(redact(`starting ${[serverCommand.command, ...commandArguments].join(" ")}`));
  const child = spawn(serverCommand.command, commandArguments, {
    cwd,
    env,
    stdio: "pipe",
    windowsHide: true,
  });
  const stderrTail = collectStderr(child, log, redact);
  const stream = traceStream(messageStream(child), log, isTraced);
  return { stream, exited: waitForExit(child, log, stderrTail), dispose: () => { shutDown(child); } };
}

function messageStream(child: ChildProcessWithoutNullStreams): Stream {
  const input = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
  const output = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  return ndJsonStream(input, output);
}

function collectStderr(child: ChildProcessWithoutNullStreams, log: Log, redact: (text: string) => string): string[] {
  const stderrTail: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    const text = redact(line);
    log.info(`server: ${text}`);
    stderrTail.push(text);
    if (stderrTail.length > STDERR_TAIL_LINES) stderrTail.shift();
  });
  // Writing to an exited server fails here; without a listener the error would crash the extension host.
  // The exit itself is reported by `exited`.
  child.stdin.on("error", (error) => {
    log.warn(`could not write to the server: ${error.message}`);
  });
  return stderrTail;
}

function waitForExit(
  child: ChildProcessWithoutNullStreams,
  log: Log,
  stderrTail: readonly string[],
): Promise<ServerExit> {
  return new Promise((resolve) => {
    child.once("error", (error) => {
      log.error(`the server could not be started: ${messageOf(error)}`);
      resolve({ status: t("an error"), stderrTail: messageOf(error) });
    });
    child.once("close", (exitCode, signal) => {
      log.info(`the server stopped: ${signal ?? String(exitCode)}`);
      const status = signal === null ? t("exit code {0}", String(exitCode)) : t("ended by the system or another program");
      resolve({ status, stderrTail: stderrTail.join("\n") });
    });
  });
}

/** Stop the server: close its standard input, and kill it if it does not exit in time. */
function shutDown(child: ChildProcessWithoutNullStreams): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), SHUTDOWN_MILLISECONDS);
  child.once("close", () => {
    clearTimeout(timer);
  });
}

/** Wrap a stream so that every message is written to the trace log while tracing is enabled. */
export function traceStream(stream: Stream, log: Log, isTraced: () => boolean): Stream {
  const tap = (direction: string): TransformStream<AnyMessage, AnyMessage> =>
    new TransformStream({
      transform(message, controller) {
        if (isTraced()) log.trace(JSON.stringify({ time: new Date().toISOString(), direction, message }));
        controller.enqueue(message);
      },
    });
  const outgoing = tap("sent");
  // No further handling: the connection sees the same failure on its own end of the stream.
  outgoing.readable.pipeTo(stream.writable).catch((error: unknown) => {
    log.warn(`the connection to the server closed: ${messageOf(error)}`);
  });
  return { writable: outgoing.writable, readable: stream.readable.pipeThrough(tap("received")) };
}
