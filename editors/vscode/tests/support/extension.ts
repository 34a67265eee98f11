/** The whole extension in an in-memory VS Code, with the state of its view. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExtensionContext } from "vscode";
import { activate } from "../../src/extension/extension.js";
import type { HostMessage } from "../../src/shared/events.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../../src/shared/state.js";
import { editor, EventEmitter, resetEditor, Uri } from "./vscode.js";

const DEADLINE_MILLISECONDS = 20_000;

export class TestExtension {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "acp-server-extension-")));
  readonly workspaceState = new Map<string, unknown>();
  readonly disposables: { dispose(): void }[] = [];
  html = "";
  state: ViewState = EMPTY_VIEW;
  badge: { value: number; tooltip: string } | undefined;
  title = "";
  isVisible = true;
  readonly #visibility = new EventEmitter();
  #post: (message: unknown) => void = () => undefined;
  #close: () => void = () => undefined;
  readonly #watchers = new Set<() => void>();

  constructor() {
    resetEditor();
    editor.folders = [Uri.file(this.folder)];
  }

  activate(): this {
    const workspaceState = {
      get: (key: string) => this.workspaceState.get(key),
      update: (key: string, value: unknown) => {
        this.workspaceState.set(key, value);
        return Promise.resolve();
      },
    };
    const context = {
      subscriptions: this.disposables,
      workspaceState: workspaceState,
      storageUri: Uri.file(join(this.folder, "storage")),
      extensionUri: Uri.file("/extension"),
      extension: { packageJSON: { version: "1" } },
    };
    activate(context as unknown as ExtensionContext);
    return this;
  }

  /** Resolve the chat's webview. */
  show(): this {
    const webview = {
      options: {},
      html: "",
      cspSource: "vscode-resource:",
      asWebviewUri: (uri: { path: string }) => `webview:${uri.path}`,
      postMessage: (message: HostMessage) => {
        if (message.kind === "script") return Promise.resolve(true);
        const before = message.kind === "replay" ? EMPTY_VIEW : this.state;
        this.state = reduceAll(before, message.events);
        for (const watcher of [...this.#watchers]) watcher();
        return Promise.resolve(true);
      },
      onDidReceiveMessage: (listener: (message: unknown) => void) => {
        this.#post = listener;
        return { dispose: () => undefined };
      },
    };
    const view = Object.defineProperties(
      {
        webview,
        onDidChangeVisibility: this.#visibility.event,
        onDidDispose: (listener: () => void) => {
          this.#close = listener;
          return { dispose: () => undefined };
        },
      },
      {
        visible: { get: () => this.isVisible },
        badge: { set: (badge: typeof this.badge) => (this.badge = badge) },
        title: { set: (title: string) => (this.title = title) },
      },
    );
    editor.providers.at(-1)?.resolveWebviewView(view);
    this.html = webview.html;
    return this;
  }

  /** Post a message as the webview. */
  post(message: unknown): void {
    this.#post(message);
  }

  setVisible(isVisible: boolean): void {
    this.isVisible = isVisible;
    this.#visibility.fire(undefined);
  }

  /** Close the view, as VS Code does when the user moves it. */
  closeView(): void {
    this.#close();
  }

  run(command: string): unknown {
    return editor.commands.get(`acpServer.${command}`)?.();
  }

  until(isMatch: (state: ViewState) => boolean): Promise<ViewState> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const log = editor.channels.get("Hermes Agent")?.join("\n") ?? "";
        reject(new Error(`the view did not reach the expected state: ${JSON.stringify(this.state)}\n${log}`));
      }, DEADLINE_MILLISECONDS);
      const check = (): void => {
        if (!isMatch(this.state)) return;
        clearTimeout(timer);
        this.#watchers.delete(check);
        resolve(this.state);
      };
      this.#watchers.add(check);
      check();
    });
  }

  close(): void {
    for (const each of this.disposables) each.dispose();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
