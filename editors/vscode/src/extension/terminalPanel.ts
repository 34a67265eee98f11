/**
 * Shows the agent's commands in VS Code terminals.
 *
 * Buffers the output of each pseudoterminal until the user opens it, and limits the number of ended
 * terminals.
 */
import { EventEmitter, ThemeIcon, window, type Pseudoterminal, type Terminal } from "vscode";
import type { Disposable, PanelTerminal, TerminalPanel } from "../host/ports.js";
import { tailOf } from "../shared/terminalOutput.js";

/** Number of ended terminals that stay open for reading. */
const MAX_ENDED_TERMINALS = 4;
const MAX_NAME_LENGTH = 40;
const CTRL_C = "\u0003";

export class VsCodeTerminalPanel implements TerminalPanel, Disposable {
  readonly #running = new Set<CommandTerminal>();
  readonly #ended: CommandTerminal[] = [];

  open(name: string, interrupt: () => void): PanelTerminal {
    const terminal = new CommandTerminal(name, interrupt, () => {
      this.#retire(terminal);
    });
    this.#running.add(terminal);
    return terminal;
  }

  dispose(): void {
    for (const terminal of [...this.#running, ...this.#ended]) terminal.dispose();
  }

  #retire(terminal: CommandTerminal): void {
    this.#running.delete(terminal);
    this.#ended.push(terminal);
    if (this.#ended.length > MAX_ENDED_TERMINALS) this.#ended.shift()?.dispose();
  }
}

class CommandTerminal implements PanelTerminal, Disposable {
  readonly #written = new EventEmitter<string>();
  readonly #closed = new EventEmitter<number>();
  readonly #terminal: Terminal;
  readonly #retire: () => void;
  /** Output from before the terminal was opened. VS Code drops what is written earlier. */
  #unshownOutput = "";
  #isOpened = false;

  constructor(name: string, interrupt: () => void, retire: () => void) {
    this.#retire = retire;
    const pty: Pseudoterminal = {
      onDidWrite: this.#written.event,
      onDidClose: this.#closed.event,
      open: () => {
        this.#isOpened = true;
        this.#written.fire(this.#unshownOutput);
        this.#unshownOutput = "";
      },
      close: interrupt,
      handleInput: (data) => {
        if (data === CTRL_C) interrupt();
      },
    };
    this.#terminal = window.createTerminal({
      name: name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name,
      pty,
      iconPath: new ThemeIcon("hubot"),
      isTransient: true,
    });
    this.write(`\u001b[2m$ ${name}\u001b[0m\n`);
  }

  write(data: string): void {
    const crlfData = data.replaceAll(/\r?\n/g, "\r\n"); // a terminal needs both characters
    if (this.#isOpened) this.#written.fire(crlfData);
    else this.#unshownOutput = tailOf(this.#unshownOutput + crlfData);
  }

  end(status: string): void {
    this.write(`\n\u001b[2m[${status}]\u001b[0m\n`);
  }

  show(): void {
    this.#terminal.show(true);
  }

  release(): void {
    this.#retire();
  }

  dispose(): void {
    this.#terminal.dispose();
    this.#written.dispose();
    this.#closed.dispose();
  }
}
