/**
 * Log of the extension: a readable output channel, and a trace channel of protocol messages as JSON lines.
 *
 * The trace channel is created with its first line, so that an unused one does not appear in the list.
 */
import { window, type LogOutputChannel, type OutputChannel } from "vscode";
import type { Disposable, Log } from "../host/ports.js";

const NAME = "Hermes Agent";

export class ChannelLog implements Log, Disposable {
  readonly #channel: LogOutputChannel = window.createOutputChannel(NAME, { log: true });
  #traceChannel: OutputChannel | undefined;

  info(text: string): void {
    this.#channel.info(text);
  }

  warn(text: string): void {
    this.#channel.warn(text);
  }

  error(text: string): void {
    this.#channel.error(text);
  }

  trace(line: string): void {
    this.#traceChannel ??= window.createOutputChannel(`${NAME} Trace`, "jsonl");
    this.#traceChannel.appendLine(line);
  }

  show(): void {
    this.#channel.show(true);
  }

  dispose(): void {
    this.#channel.dispose();
    this.#traceChannel?.dispose();
  }
}
