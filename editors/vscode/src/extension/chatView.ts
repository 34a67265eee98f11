/**
 * The chat's view in the side bar.
 *
 * Owns the webview: its page, its messages and its badge. What it posts is checked before anybody
 * sees it. Refuses to know what intents mean.
 */
import { Uri, window, type Disposable as Registration, type WebviewView } from "vscode";
import type { Hub } from "../host/hub.js";
import type { Disposable, Log } from "../host/ports.js";
import { isIntent, type Intent } from "../shared/intents.js";
import { pageOf } from "./page.js";

export const VIEW_ID = "acpServer.chat";

export class ChatView implements Disposable {
  readonly #folder: Uri;
  readonly #hub: Hub;
  readonly #log: Log;
  readonly #onIntent: (intent: Intent) => void;
  readonly #registration: Registration;
  #view: WebviewView | undefined;
  #waiting = 0;

  constructor(folder: Uri, hub: Hub, log: Log, onIntent: (intent: Intent) => void) {
    this.#folder = folder;
    this.#hub = hub;
    this.#log = log;
    this.#onIntent = onIntent;
    const provider = {
      resolveWebviewView: (view: WebviewView): void => {
        this.#resolve(view);
      },
    };
    this.#registration = window.registerWebviewViewProvider(VIEW_ID, provider);
  }

  /** Whether the user can see it. */
  get isVisible(): boolean {
    return this.#view?.visible === true && window.state.focused;
  }

  /** Show how many questions wait. */
  setWaiting(waiting: number): void {
    this.#waiting = waiting;
    if (this.#view === undefined) return;
    const tooltip = waiting === 1 ? "1 question waits" : `${String(waiting)} questions wait`;
    this.#view.badge = waiting === 0 ? undefined : { value: waiting, tooltip };
  }

  dispose(): void {
    this.#registration.dispose();
  }

  #resolve(view: WebviewView): void {
    const { webview } = view;
    const dist = Uri.joinPath(this.#folder, "dist");
    webview.options = { enableScripts: true, localResourceRoots: [dist] };
    const uriOf = (name: string): string => webview.asWebviewUri(Uri.joinPath(dist, name)).toString();
    webview.html = pageOf({
      source: webview.cspSource,
      script: uriOf("webview.js"),
      styles: uriOf("webview.css"),
    });
    this.#view = view;
    this.setWaiting(this.#waiting);
    const received = webview.onDidReceiveMessage((message: unknown) => {
      this.#receive(view, message);
    });
    view.onDidDispose(() => {
      received.dispose();
      if (this.#view !== view) return;
      this.#view = undefined;
      this.#hub.detach();
    });
  }

  #receive(view: WebviewView, message: unknown): void {
    if (!isIntent(message)) {
      this.#log.warn(`the view posted what is no intent: ${JSON.stringify(message)}`);
      return;
    }
    if (message.type === "ready") {
      this.#hub.attach((told) => {
        void view.webview.postMessage(told);
      });
    }
    this.#onIntent(message);
  }
}
