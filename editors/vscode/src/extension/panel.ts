/**
 * Commands of the agent's as terminals of VS Code's.
 *
 * Owns the pseudoterminals: what they have printed until they are looked at, and how many ended ones
 * stay. Refuses to know what runs in them.
 */
import { EventEmitter, ThemeIcon, window, type Pseudoterminal, type Terminal } from "vscode";
import type { Disposable, PanelTerminal, TerminalPanel } from "../host/ports.js";
import { endOf } from "../shared/terminals.js";

/** So many ended terminals stay, for whoever comes late. */
const MOST_ENDED = 4;
const LONGEST_NAME = 40;
const CTRL_C = "\u0003";

export class EditorPanel implements TerminalPanel, Disposable {
  readonly #open = new Set<CommandTerminal>();
  readonly #ended: CommandTerminal[] = [];

  open(name: string, interrupt: () => void): PanelTerminal {
    const terminal = new CommandTerminal(name, interrupt, () => {
      this.#retire(terminal);
    });
    this.#open.add(terminal);
    return terminal;
  }

  dispose(): void {
    for (const terminal of [...this.#open, ...this.#ended]) terminal.dispose();
  }

  #retire(terminal: CommandTerminal): void {
    this.#open.delete(terminal);
    this.#ended.push(terminal);
    if (this.#ended.length > MOST_ENDED) this.#ended.shift()?.dispose();
  }
}

class CommandTerminal implements PanelTerminal, Disposable {
  readonly #written = new EventEmitter<string>();
  readonly #closed = new EventEmitter<number>();
  readonly #terminal: Terminal;
  readonly #retire: () => void;
  /** What was printed before somebody looked. */
  #unread = "";
  #isLookedAt = false;

  constructor(name: string, interrupt: () => void, retire: () => void) {
    this.#retire = retire;
    const pty: Pseudoterminal = {
      onDidWrite: this.#written.event,
      onDidClose: this.#closed.event,
      open: () => {
        this.#isLookedAt = true;
        this.#written.fire(this.#unread);
        this.#unread = "";
      },
      close: interrupt,
      handleInput: (data) => {
        if (data === CTRL_C) interrupt();
      },
    };
    this.#terminal = window.createTerminal({
      name: name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name,
      pty,
      iconPath: new ThemeIcon("hubot"),
      isTransient: true,
    });
    this.print(`\u001b[2m$ ${name}\u001b[0m\n`);
  }

  print(data: string): void {
    const lines = data.replaceAll(/\r?\n/g, "\r\n"); // a terminal wants both
    if (this.#isLookedAt) this.#written.fire(lines);
    else this.#unread = endOf(this.#unread + lines);
  }

  end(status: string): void {
    this.print(`\n\u001b[2m[${status}]\u001b[0m\n`);
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
