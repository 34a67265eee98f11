/**
 * Output of the last command that the user ran in a terminal, for the mention `@terminal`.
 *
 * VS Code reports output only of shells with its shell integration; without it there is none.
 */
import { window, type Disposable as Registration, type TerminalShellExecution } from "vscode";
import type { Disposable } from "../host/ports.js";
import { tailOf } from "../shared/terminalOutput.js";

const ESCAPE_SEQUENCE = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][A-Z0-9]|[=>])/g;

export class TerminalOutput implements Disposable {
  readonly #registration: Registration;
  #commandLine = "";
  #output = "";

  constructor() {
    this.#registration = window.onDidStartTerminalShellExecution(({ execution }) => {
      void this.#record(execution);
    });
  }

  /** The last command line and the end of its output; empty if there was none. */
  get last(): string {
    return this.#commandLine === "" ? "" : `$ ${this.#commandLine}\n${this.#output}`;
  }

  dispose(): void {
    this.#registration.dispose();
  }

  async #record(execution: TerminalShellExecution): Promise<void> {
    const commandLine = execution.commandLine.value;
    this.#commandLine = commandLine;
    this.#output = "";
    for await (const data of execution.read()) {
      if (this.#commandLine !== commandLine) return; // a later command took over
      this.#output = tailOf(this.#output + data.replaceAll(ESCAPE_SEQUENCE, "").replaceAll("\r\n", "\n"));
    }
  }
}
