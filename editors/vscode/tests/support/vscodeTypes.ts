/** VS Code's value types, as far as the extension uses them. */

export interface Disposable {
  dispose(): void;
}

export type Listener<T> = (value: T) => void;

export class EventEmitter<T = unknown> {
  readonly #listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): Disposable => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of [...this.#listeners]) listener(value);
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

export class Position {
  readonly line: number;
  readonly character: number;

  constructor(line: number, character: number) {
    this.line = line;
    this.character = character;
  }
}

export class Range {
  readonly start: Position;
  readonly end: Position;

  constructor(start: Position, end: Position);
  constructor(startLine: number, startCharacter: number, endLine: number, endCharacter: number);
  constructor(start: Position | number, end: Position | number, endLine = 0, endCharacter = 0) {
    this.start = typeof start === "number" ? new Position(start, Number(end)) : start;
    this.end = typeof end === "number" ? new Position(endLine, endCharacter) : end;
  }

  get isEmpty(): boolean {
    return this.start.line === this.end.line && this.start.character === this.end.character;
  }
}

export class Selection extends Range {
  get active(): Position {
    return this.end;
  }
}

export class Uri {
  readonly scheme: string;
  readonly path: string;
  readonly query: string;

  constructor(scheme: string, path: string, query = "") {
    this.scheme = scheme;
    this.path = path;
    this.query = query;
  }

  static file(path: string): Uri {
    return new Uri("file", path);
  }

  static parse(text: string): Uri {
    const [, scheme = "", path = "", query = ""] = /^([\w-]+):([^?]*)\??(.*)$/.exec(text) ?? [];
    return new Uri(scheme, path, query);
  }

  static joinPath(base: Uri, ...parts: string[]): Uri {
    return Uri.file([base.path, ...parts].join("/"));
  }

  get fsPath(): string {
    return this.path;
  }

  with(change: { scheme?: string; query?: string }): Uri {
    return new Uri(change.scheme ?? this.scheme, this.path, change.query ?? this.query);
  }

  toString(): string {
    return `${this.scheme}:${this.path}${this.query === "" ? "" : `?${this.query}`}`;
  }
}

/** A document; `saved` is its text on disk. */
export class TextDocument {
  readonly uri: Uri;
  text: string;
  saved: string;
  version = 1;
  isClosed = false;
  canSave = true;

  constructor(uri: Uri, text: string, saved: string = text) {
    this.uri = uri;
    this.text = text;
    this.saved = saved;
  }

  get isDirty(): boolean {
    return this.text !== this.saved;
  }

  get lineCount(): number {
    return this.text.split("\n").length;
  }

  getText(range?: Range): string {
    return range === undefined ? this.text : this.text.slice(this.offsetAt(range.start), this.offsetAt(range.end));
  }

  positionAt(offset: number): Position {
    const lines = this.text.slice(0, offset).split("\n");
    return new Position(lines.length - 1, lines.at(-1)?.length ?? 0);
  }

  offsetAt({ line, character }: Position): number {
    const before = this.text.split("\n").slice(0, line);
    return before.reduce((sum, each) => sum + each.length + 1, character);
  }

  save(): Promise<boolean> {
    if (this.canSave) this.saved = this.text;
    return Promise.resolve(this.canSave);
  }
}

export class WorkspaceEdit {
  readonly replacements: [Uri, Range, string][] = [];

  replace(uri: Uri, range: Range, text: string): void {
    this.replacements.push([uri, range, text]);
  }
}

export class TabInputTextDiff {
  constructor(
    readonly original: Uri,
    readonly modified: Uri,
  ) {}
}

export class TabInputText {
  readonly uri: Uri;

  constructor(uri: Uri) {
    this.uri = uri;
  }
}

export class MarkdownString {
  value: string;
  isTrusted: unknown;

  constructor(value = "") {
    this.value = value;
  }

  appendText(text: string): this {
    this.value += text;
    return this;
  }

  appendCodeblock(text: string): this {
    this.value += `\n\`\`\`\n${text}\n\`\`\``;
    return this;
  }
}

export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: { title: string; command: string; arguments: unknown[] },
  ) {}
}

export class CodeActionKind {
  static readonly QuickFix = new CodeActionKind("quickfix");
  static readonly Empty = new CodeActionKind("");

  constructor(readonly value: string) {}
}

export class CodeAction {
  command: { command: string; title: string; arguments: unknown[] } | undefined;
  diagnostics: object[] = [];

  constructor(
    readonly title: string,
    readonly kind: CodeActionKind,
  ) {}
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class ThemeIcon extends ThemeColor {}

export class TreeItem {
  description: string | undefined;
  tooltip: unknown;
  contextValue: string | undefined;
  iconPath: ThemeIcon | undefined;
  command: { command: string; arguments: unknown[] } | undefined;

  constructor(
    readonly label: string,
    readonly collapsibleState = 0,
  ) {}
}

export enum TreeItemCollapsibleState {
  None,
  Collapsed,
}


/** No translations: the texts are English. */
export const l10n: { bundle: Readonly<Record<string, string>> | undefined } = { bundle: undefined };

interface Pty {
  readonly onDidWrite: (listener: Listener<string>) => Disposable;
  open(): void;
  close(): void;
  handleInput(data: string): void;
}

/** A terminal in the panel, with the output written to it. */
export class Terminal {
  readonly options: Readonly<Record<string, unknown>> & { readonly name: string; readonly pty?: Pty };
  written = "";
  isShown = false;
  isDisposed = false;
  exitStatus: { code: number | undefined } | undefined;

  constructor(options: Terminal["options"]) {
    this.options = options;
    options.pty?.onDidWrite((data) => {
      this.written += data;
    });
  }

  show(): void {
    this.isShown = true;
    this.options.pty?.open();
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

/** A thread between the lines of an editor. */
export interface CommentThread {
  readonly uri: Uri;
  range: Range;
  label?: string;
  comments: readonly { readonly body: MarkdownString }[];
  dispose(): void;
}

export const CommentMode = { Preview: 1 };
export const CommentThreadState = { Resolved: 1 };
export const CommentThreadCollapsibleState = { Expanded: 1 };

export class Location {
  constructor(
    readonly uri: Uri,
    readonly range: Range,
  ) {}
}

export class LanguageModelTextPart {
  constructor(readonly value: string) {}
}

export class LanguageModelToolResult {
  constructor(readonly content: readonly LanguageModelTextPart[]) {}
}

export enum ProgressLocation {
  Notification = 15,
}

export interface ProgressOptions {
  readonly location: unknown;
  readonly title?: string;
  /** Whether there is a button that cancels the work, or its label. */
  readonly cancellable?: unknown;
}

export type ProgressWork = (progress: object, token: object) => Promise<unknown>;

/** Run work with a progress. A notification of it is among `notices` until its end, and cancels the work if the user chooses its button. */
export async function runProgress(
  { location, title = "", cancellable }: ProgressOptions,
  work: ProgressWork,
  editor: { notices: string[]; readonly choice: string | undefined },
): Promise<unknown> {
  const cancelled = new EventEmitter();
  const ended = work({}, { onCancellationRequested: cancelled.event });
  if (location !== ProgressLocation.Notification) return ended;
  editor.notices.push(title);
  if (editor.choice === cancellable) cancelled.fire(undefined);
  const result = await ended;
  editor.notices = editor.notices.filter((each) => each !== title);
  return result;
}

/** A part of VS Code's table. */
export enum SymbolKind {
  Class = 4,
  Method = 5,
  Function = 11,
}
