/** A host with a real agent process, and the view state from its messages. */
import { Controller } from "../../src/host/controller.js";
import { NodeDisk } from "../../src/host/nodeDisk.js";
import type { ServerCommand } from "../../src/host/serverLocator.js";
import { startServer } from "../../src/host/serverProcess.js";
import { ViewPublisher } from "../../src/host/viewPublisher.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../../src/shared/state.js";
import { FakeEditorWindow, FakeTextStore, FakeFiles, FakeLog, FakeWorkspaceState, FakeTerminalPanel } from "./fakes.js";
import { UNUSED_SERVICES } from "./services.js";

const DEADLINE_MILLISECONDS = 60_000;

export class ServerSession {
  readonly editorWindow = new FakeEditorWindow();
  readonly log = new FakeLog();
  readonly ends: Promise<unknown>[] = [];
  readonly host: Controller;
  view: ViewState = EMPTY_VIEW;
  #onView: () => void = () => undefined;

  constructor(serverCommand: ServerCommand, workspace: string) {
    this.editorWindow.folders = [workspace];
    const viewPublisher = new ViewPublisher();
    viewPublisher.attach((message) => {
      if (message.kind === "script") return;
      this.view = reduceAll(message.kind === "replay" ? EMPTY_VIEW : this.view, message.events);
      this.#onView();
    });
    this.host = new Controller(
      {
        version: "test",
        editorWindow: this.editorWindow,
        documents: new FakeFiles(),
        disk: new NodeDisk(),
        terminalPanel: new FakeTerminalPanel(),
        workspaceState: new FakeWorkspaceState(),
        textStore: new FakeTextStore(),
        log: this.log,
        locateServer: () => Promise.resolve(serverCommand),
        startServer: (found, cwd) => {
          const server = startServer(found, cwd, this.log, () => false);
          this.ends.push(server.exited);
          return { ...server, ended: server.exited.then(({ stderrTail }) => stderrTail || "ended") };
        },
        problemsOf: () => [],
        isTrusted: () => true,
        shouldFollowInitially: () => false,
        wait: () => Promise.resolve(),
        now: () => Date.now(),
        onState: () => undefined,
        onQuestion: () => undefined,
        ...UNUSED_SERVICES,
      },
      viewPublisher,
    );
  }

  until(isMatch: (view: ViewState) => boolean): Promise<ViewState> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`${this.log.lines.join("\n")}\n${this.view.connection.message}\n${JSON.stringify(this.view.session)}`));
      }, DEADLINE_MILLISECONDS);
      const check = (): void => {
        if (!isMatch(this.view)) return;
        clearTimeout(timer);
        resolve(this.view);
      };
      this.#onView = check;
      check();
    });
  }
}
