/** An editor in memory: its documents, its disk, its window and its panel. */
import type {
  CommandLine,
  Desk,
  Disk,
  Documents,
  Drawer,
  Glance,
  Log,
  Memory,
  OpenDocument,
  PanelTerminal,
  Problem,
  TerminalPanel,
} from "../../src/host/ports.js";

export class FakeDocument implements OpenDocument {
  text: string;
  isDirty: boolean;
  readonly edits: [number, number, string][] = [];
  readonly #saved: (text: string) => void;

  constructor(text: string, isDirty: boolean, saved: (text: string) => void) {
    this.text = text;
    this.isDirty = isDirty;
    this.#saved = saved;
  }

  replace(start: number, end: number, text: string): Promise<boolean> {
    this.edits.push([start, end, text]);
    this.text = this.text.slice(0, start) + text + this.text.slice(end);
    this.isDirty = true;
    return Promise.resolve(true);
  }

  save(): Promise<boolean> {
    this.isDirty = false;
    this.#saved(this.text);
    return Promise.resolve(true);
  }
}

export class FakeFiles implements Documents, Disk {
  readonly disk = new Map<string, string>();
  readonly open = new Map<string, FakeDocument>();

  openDocument(path: string, text: string, isDirty = false): FakeDocument {
    const document = new FakeDocument(text, isDirty, (saved) => this.disk.set(path, saved));
    this.open.set(path, document);
    return document;
  }

  find(path: string): OpenDocument | undefined {
    return this.open.get(path);
  }

  read(path: string): Promise<string | null> {
    return Promise.resolve(this.disk.get(path) ?? null);
  }

  write(path: string, text: string): Promise<void> {
    this.disk.set(path, text);
    return Promise.resolve();
  }

  remove(path: string): Promise<void> {
    this.disk.delete(path);
    return Promise.resolve();
  }
}

export class FakeDesk implements Desk {
  folders: readonly string[] = ["/project", "/other"];
  /** What was done, in words. */
  readonly done: string[] = [];
  ran: CommandLine | null = null;
  exitCode: number | null = 0;
  agrees = true;
  now: Glance = { file: "", firstLine: 0, lastLine: 0, selectedText: "", problems: [] };

  glance(): Glance {
    return this.now;
  }

  openFile(path: string, line: number, takesFocus: boolean): Promise<void> {
    this.done.push(`open ${path}:${String(line)}${takesFocus ? " focused" : ""}`);
    return Promise.resolve();
  }

  openDiff(path: string, old: string, fresh: string | null): Promise<void> {
    this.done.push(`diff ${path} ${JSON.stringify(old)} ${JSON.stringify(fresh)}`);
    return Promise.resolve();
  }

  openExternal(href: string): Promise<void> {
    this.done.push(`browse ${href}`);
    return Promise.resolve();
  }

  runInTerminal(_name: string, line: CommandLine): Promise<number | null> {
    this.ran = line;
    return Promise.resolve(this.exitCode);
  }

  confirm(question: string): Promise<boolean> {
    this.done.push(`confirm ${question}`);
    return Promise.resolve(this.agrees);
  }

  tell(message: string): Promise<string | undefined> {
    this.done.push(`tell ${message}`);
    return Promise.resolve(undefined);
  }

  findFiles(query: string): Promise<readonly string[]> {
    return Promise.resolve([`/project/src/${query}.py`]);
  }

  showLog(): void {
    this.done.push("log");
  }

  openSettings(): void {
    this.done.push("settings");
  }

  manageTrust(): void {
    this.done.push("trust");
  }

  openFolder(): void {
    this.done.push("folder");
  }

  revealChat(): void {
    this.done.push("chat");
  }
}

export class FakePanel implements TerminalPanel {
  readonly told: string[] = [];
  interrupt: () => void = () => undefined;

  open(name: string, interrupt: () => void): PanelTerminal {
    this.interrupt = interrupt;
    this.told.push(`open ${name}`);
    return {
      print: (data) => this.told.push(`print ${data}`),
      end: (status) => this.told.push(`end ${status}`),
      show: () => this.told.push("show"),
      release: () => this.told.push("release"),
    };
  }
}

export class FakeLog implements Log {
  readonly lines: string[] = [];

  info(text: string): void {
    this.lines.push(text);
  }

  warn(text: string): void {
    this.lines.push(`warning: ${text}`);
  }

  error(text: string): void {
    this.lines.push(`error: ${text}`);
  }

  trace(line: string): void {
    this.lines.push(`trace: ${line}`);
  }
}

export class FakeDrawer implements Drawer {
  readonly texts = new Map<string, string>();

  read(name: string): Promise<string | null> {
    return Promise.resolve(this.texts.get(name) ?? null);
  }

  write(name: string, text: string): Promise<void> {
    this.texts.set(name, text);
    return Promise.resolve();
  }

  remove(name: string): Promise<void> {
    this.texts.delete(name);
    return Promise.resolve();
  }
}

export class FakeMemory implements Memory {
  readonly kept = new Map<string, string>();

  get(key: string): string | undefined {
    return this.kept.get(key);
  }

  set(key: string, value: string | undefined): void {
    if (value === undefined) this.kept.delete(key);
    else this.kept.set(key, value);
  }
}

export function problem(message: string): Problem {
  return { severity: "error", message, line: 3, endLine: 3, source: "ruff", code: "F401" };
}
