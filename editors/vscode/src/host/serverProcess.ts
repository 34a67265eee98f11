/**
 * The server as a process.
 *
 * Owns its start, its pipes as a stream of messages, the trace of both directions and its end.
 * Refuses to know what the messages mean and whether it is to be started again.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { ndJsonStream, type AnyMessage, type Stream } from "@agentclientprotocol/sdk";
import { childEnvironment } from "./environment.js";
import { messageOf } from "./failures.js";
import type { Launch } from "./locating.js";
import type { Disposable, Log } from "./ports.js";

/** How long the server may take to leave once its input has ended. */
const LEAVING_MILLISECONDS = 3000;
/** What is told of a server that could not start: the end of what it said. */
const LAST_WORDS = 5;

export interface ServerEnd {
  /** How it ended: its exit code or the signal. */
  readonly status: string;
  readonly lastWords: string;
}

/** A started server. `ended` resolves once, however it ends. */
export interface ServerProcess extends Disposable {
  readonly stream: Stream;
  readonly ended: Promise<ServerEnd>;
}

/** Start the server in a folder. */
export function startServer(launch: Launch, cwd: string, log: Log, isTraced: () => boolean): ServerProcess {
  const line = [...launch.program, ...launch.serving];
  log.info(`starting ${[launch.command, ...line].join(" ")}`);
  const child = spawn(launch.command, line, {
    cwd,
    env: childEnvironment(process.env, launch.environment),
    stdio: "pipe",
    windowsHide: true,
  });
  const lastWords = listen(child, log);
  const stream = traced(streamOf(child), log, isTraced);
  return { stream, ended: endOf(child, log, lastWords), dispose: () => { leave(child); } };
}

function streamOf(child: ChildProcessWithoutNullStreams): Stream {
  const input = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
  const output = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  return ndJsonStream(input, output);
}

function listen(child: ChildProcessWithoutNullStreams, log: Log): string[] {
  const lastWords: string[] = [];
  createInterface({ input: child.stderr }).on("line", (words) => {
    log.info(`server: ${words}`);
    lastWords.push(words);
    if (lastWords.length > LAST_WORDS) lastWords.shift();
  });
  // A server that is gone takes nothing; its end is told by `ended`.
  child.stdin.on("error", (error) => {
    log.warn(`the server takes no more: ${error.message}`);
  });
  return lastWords;
}

function endOf(
  child: ChildProcessWithoutNullStreams,
  log: Log,
  lastWords: readonly string[],
): Promise<ServerEnd> {
  return new Promise((resolve) => {
    child.once("error", (error) => {
      log.error(`the server could not be started: ${messageOf(error)}`);
      resolve({ status: "an error", lastWords: messageOf(error) });
    });
    child.once("close", (exitCode, signal) => {
      const status = signal ?? `exit code ${String(exitCode)}`;
      log.info(`the server has ended: ${status}`);
      resolve({ status, lastWords: lastWords.join("\n") });
    });
  });
}

/** End the server: it leaves when its input ends, and is ended if it does not. */
function leave(child: ChildProcessWithoutNullStreams): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), LEAVING_MILLISECONDS);
  child.once("close", () => {
    clearTimeout(timer);
  });
}

/** Return the stream with every message written to the trace, while that is wanted. */
export function traced(stream: Stream, log: Log, isTraced: () => boolean): Stream {
  const tap = (direction: string): TransformStream<AnyMessage, AnyMessage> =>
    new TransformStream({
      transform(message, controller) {
        if (isTraced()) log.trace(JSON.stringify({ time: new Date().toISOString(), direction, message }));
        controller.enqueue(message);
      },
    });
  const outgoing = tap("sent");
  // Both ends fail with the stream they are joined to, and the connection sees that.
  outgoing.readable.pipeTo(stream.writable).catch((error: unknown) => {
    log.warn(`the wire to the server has ended: ${messageOf(error)}`);
  });
  return { writable: outgoing.writable, readable: stream.readable.pipeThrough(tap("received")) };
}
