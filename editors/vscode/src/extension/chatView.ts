/**
 * The chat's webview in the side bar: page, messages and badge.
 *
 * Validates every message from the webview before it is handled.
 */
import { Uri, window, type Disposable as Registration, type WebviewView } from "vscode";
import type { ViewPublisher } from "../host/viewPublisher.js";
import type { Disposable, Log } from "../host/ports.js";
import { isIntent, type Intent } from "../shared/intents.js";
import { renderPage } from "./page.js";

export const VIEW_ID = "acpServer.chat";

export class ChatView implements Disposable {
  readonly #folder: Uri;
  readonly #viewPublisher: ViewPublisher;
  readonly #log: Log;
  readonly #onIntent: (intent: Intent) => void;
  readonly #registration: Registration;
  #view: WebviewView | undefined;
  #openQuestions = 0;

  constructor(folder: Uri, viewPublisher: ViewPublisher, log: Log, onIntent: (intent: Intent) => void) {
    this.#folder = folder;
    this.#viewPublisher = viewPublisher;
    this.#log = log;
    this.#onIntent = onIntent;
    const provider = {
      resolveWebviewView: (view: WebviewView): void => {
        this.#resolve(view);
      },
    };
    this.#registration = window.registerWebviewViewProvider(VIEW_ID, provider);
  }

  /** Whether the view is visible and VS Code's window has the focus. */
  get isVisible(): boolean {
    return this.#view?.visible === true && window.state.focused;
  }

  /** Show the number of unanswered questions as a badge. */
  showOpenQuestions(openQuestions: number): void {
    this.#openQuestions = openQuestions;
    if (this.#view === undefined) return;
    const tooltip = openQuestions === 1 ? "1 question is waiting for you" : `${String(openQuestions)} questions are waiting for you`;
    this.#view.badge = openQuestions === 0 ? undefined : { value: openQuestions, tooltip };
  }

  dispose(): void {
    this.#registration.dispose();
  }

  #resolve(view: WebviewView): void {
    const { webview } = view;
    const dist = Uri.joinPath(this.#folder, "dist");
    webview.options = { enableScripts: true, localResourceRoots: [dist] };
    const uriOf = (name: string): string => webview.asWebviewUri(Uri.joinPath(dist, name)).toString();
    webview.html = renderPage({
      cspSource: webview.cspSource,
      script: uriOf("webview.js"),
      styles: uriOf("webview.css"),
    });
    this.#view = view;
    this.showOpenQuestions(this.#openQuestions);
    const subscription = webview.onDidReceiveMessage((message: unknown) => {
      this.#receive(view, message);
    });
    view.onDidDispose(() => {
      subscription.dispose();
      if (this.#view !== view) return;
      this.#view = undefined;
      this.#viewPublisher.detach();
    });
  }

  #receive(view: WebviewView, message: unknown): void {
    if (!isIntent(message)) {
      this.#log.warn(`ignored an invalid message from the view: ${JSON.stringify(message)}`);
      return;
    }
    if (message.type === "ready") {
      this.#viewPublisher.attach((hostMessage) => {
        void view.webview.postMessage(hostMessage);
      });
    }
    this.#onIntent(message);
  }
}
