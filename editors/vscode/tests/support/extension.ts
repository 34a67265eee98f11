/** The whole extension in a VS Code in memory, and the view that it fills. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExtensionContext } from "vscode";
import { activate } from "../../src/extension/extension.js";
import type { HostMessage } from "../../src/shared/events.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../../src/shared/state.js";
import { editor, resetEditor, Uri } from "./vscode.js";

const DEADLINE_MILLISECONDS = 20_000;

export class Extension {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "acp-server-extension-")));
  readonly memory = new Map<string, unknown>();
  readonly owned: { dispose(): void }[] = [];
  html = "";
  state: ViewState = EMPTY_VIEW;
  badge: { value: number; tooltip: string } | undefined;
  isVisible = true;
  #post: (message: unknown) => void = () => undefined;
  #close: () => void = () => undefined;
  readonly #watchers = new Set<() => void>();

  constructor() {
    resetEditor();
    editor.folders = [Uri.file(this.folder)];
  }

  activate(): this {
    const memory = {
      get: (key: string) => this.memory.get(key),
      update: (key: string, value: unknown) => {
        this.memory.set(key, value);
        return Promise.resolve();
      },
    };
    const context = {
      subscriptions: this.owned,
      workspaceState: memory,
      storageUri: Uri.file(join(this.folder, "storage")),
      extensionUri: Uri.file("/extension"),
      extension: { packageJSON: { version: "1" } },
    };
    activate(context as unknown as ExtensionContext);
    return this;
  }

  /** Show the chat's view. */
  show(): this {
    const webview = {
      options: {},
      html: "",
      cspSource: "vscode-resource:",
      asWebviewUri: (uri: { path: string }) => `webview:${uri.path}`,
      postMessage: (message: HostMessage) => {
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
        onDidDispose: (listener: () => void) => {
          this.#close = listener;
          return { dispose: () => undefined };
        },
      },
      {
        visible: { get: () => this.isVisible },
        badge: { set: (badge: typeof this.badge) => (this.badge = badge) },
      },
    );
    editor.providers.at(-1)?.resolveWebviewView(view);
    this.html = webview.html;
    return this;
  }

  /** Post something, as the view does. */
  post(message: unknown): void {
    this.#post(message);
  }

  /** Close the view, as a user does who moves it. */
  closeView(): void {
    this.#close();
  }

  run(command: string): unknown {
    return editor.commands.get(`acpServer.${command}`)?.();
  }

  until(isSo: (state: ViewState) => boolean): Promise<ViewState> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        const log = editor.channels.get("Hermes Agent")?.join("\n") ?? "";
        reject(new Error(`the view did not become so: ${JSON.stringify(this.state)}\n${log}`));
      }, DEADLINE_MILLISECONDS);
      const look = (): void => {
        if (!isSo(this.state)) return;
        clearTimeout(late);
        this.#watchers.delete(look);
        resolve(this.state);
      };
      this.#watchers.add(look);
      look();
    });
  }

  close(): void {
    for (const each of this.owned) each.dispose();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
