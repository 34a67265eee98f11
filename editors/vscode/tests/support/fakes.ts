/** In-memory fakes of the host's services: documents, disk, editor window, terminals, log and stores. */
import type {
  CommandLine,
  EditorWindow,
  Disk,
  Documents,
  TextStore,
  EditorSnapshot,
  Log,
  WorkspaceState,
  OpenDocument,
  PanelTerminal,
  Problem,
  TerminalPanel,
  WorkspaceSymbol,
} from "../../src/host/ports.js";
import type { Proposal } from "../../src/host/proposalService.js";
import type { ReviewDisplay, ReviewedFile } from "../../src/host/reviewService.js";

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

export class FakeEditorWindow implements EditorWindow {
  folders: readonly string[] = ["/project", "/other"];
  /** Performed actions, as text. */
  readonly actions: string[] = [];
  ranCommand: CommandLine | null = null;
  exitCode: number | null = 0;
  agrees = true;
  /** The answer in dialogs with several; by default the last. */
  choice: string | undefined;
  current: EditorSnapshot = { file: "", firstLine: 0, lastLine: 0, selectedText: "", problems: [] };

  snapshot(): EditorSnapshot {
    return this.current;
  }

  openFile(path: string, line: number, takesFocus: boolean): Promise<void> {
    this.actions.push(`open ${path}:${String(line)}${takesFocus ? " focused" : ""}`);
    return Promise.resolve();
  }

  openExternal(href: string): Promise<void> {
    this.actions.push(`browse ${href}`);
    return Promise.resolve();
  }

  runInTerminal(_name: string, commandLine: CommandLine): Promise<number | null> {
    this.ranCommand = commandLine;
    return Promise.resolve(this.exitCode);
  }

  confirm(question: string): Promise<boolean> {
    this.actions.push(`confirm ${question}`);
    return Promise.resolve(this.agrees);
  }

  choose(question: string, answers: readonly string[]): Promise<string | undefined> {
    this.actions.push(`choose ${question} [${answers.join("] [")}]`);
    return Promise.resolve(this.agrees ? (this.choice ?? answers.at(-1)) : undefined);
  }

  showInformation(message: string): Promise<string | undefined> {
    this.actions.push(`inform ${message}`);
    return Promise.resolve(undefined);
  }

  showWarning(message: string): Promise<string | undefined> {
    this.actions.push(`warn ${message}`);
    return Promise.resolve(undefined);
  }

  files: readonly string[] = [];
  symbols: readonly WorkspaceSymbol[] = [];
  secret: string | undefined;

  askSecret(title: string): Promise<string | undefined> {
    this.actions.push(`ask ${title}`);
    return Promise.resolve(this.secret);
  }

  pick(_title: string, labels: readonly string[]): Promise<string | undefined> {
    return Promise.resolve(labels[0]);
  }

  chooseFiles(): Promise<readonly string[]> {
    return Promise.resolve(this.files.slice(0, 1));
  }

  listFiles(): Promise<readonly string[]> {
    return Promise.resolve(this.files);
  }

  openFiles(): readonly string[] {
    return this.files.slice(0, 1);
  }

  findSymbols(): Promise<readonly WorkspaceSymbol[]> {
    return Promise.resolve(this.symbols);
  }

  problemCount(): number {
    return 2;
  }

  copy(text: string): Promise<void> {
    this.actions.push(`copy ${text}`);
    return Promise.resolve();
  }

  showLog(): void {
    this.actions.push("log");
  }

  openSettings(name: string): void {
    this.actions.push(`settings ${name}`);
  }

  manageTrust(): void {
    this.actions.push("trust");
  }

  openFolder(): void {
    this.actions.push("folder");
  }

  openChatTab(sessionId: string): void {
    this.actions.push(`tab ${sessionId}`);
  }

  revealChat(): void {
    this.actions.push("chat");
  }
}

export class FakeReviewDisplay implements ReviewDisplay {
  readonly #actions: string[];
  files: readonly ReviewedFile[] = [];
  /** Open proposals by their questions. */
  readonly proposals = new Map<string, Proposal>();

  constructor(actions: string[] = []) {
    this.#actions = actions;
  }

  showChanges(files: readonly ReviewedFile[]): void {
    this.files = files;
  }

  showProposal(proposal: Proposal): Promise<void> {
    this.proposals.set(proposal.questionId, proposal);
    return Promise.resolve();
  }

  openProposal(proposal: Proposal): Promise<void> {
    this.#actions.push(`proposal ${proposal.files.map(({ path }) => path).join(" ")}`);
    return Promise.resolve();
  }

  closeProposal(questionId: string): Promise<void> {
    this.proposals.delete(questionId);
    return Promise.resolve();
  }

  endTurn(sessionId: string): void {
    this.#actions.push(`end ${sessionId}`);
  }

  openDiff(path: string, oldText: string, newText: string): Promise<void> {
    this.#actions.push(`diff ${path} ${JSON.stringify(oldText)} ${JSON.stringify(newText)}`);
    return Promise.resolve();
  }

  openChange(path: string): Promise<void> {
    this.#actions.push(`change ${path}`);
    return Promise.resolve();
  }
}

export class FakeTerminalPanel implements TerminalPanel {
  readonly calls: string[] = [];
  interrupt: () => void = () => undefined;

  open(name: string, interrupt: () => void): PanelTerminal {
    this.interrupt = interrupt;
    this.calls.push(`open ${name}`);
    return {
      write: (data) => this.calls.push(`print ${data}`),
      end: (status) => this.calls.push(`end ${status}`),
      show: () => this.calls.push("show"),
      release: () => this.calls.push("release"),
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

export class FakeTextStore implements TextStore {
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

export class FakeWorkspaceState implements WorkspaceState {
  readonly values = new Map<string, string>();

  get(key: string): string | undefined {
    return this.values.get(key);
  }

  set(key: string, value: string | undefined): void {
    if (value === undefined) this.values.delete(key);
    else this.values.set(key, value);
  }
}

export function problem(message: string): Problem {
  return { severity: "error", message, line: 3, endLine: 3, source: "ruff", code: "F401" };
}
