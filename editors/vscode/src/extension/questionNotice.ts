/**
 * Entry of the bundle that is loaded with the first question while the chat is hidden: a notification of it.
 *
 * Only a notification of progress can be closed by an extension: it stays as long as its question is open and out of view.
 * Hiding it answers nothing. What is asked is allowed in the chat alone, because a notification cuts long commands and
 * shows no changes.
 */
import { commands, ProgressLocation, window } from "vscode";
import type { AskedQuestion } from "../host/hostServices.js";
import { t } from "../shared/l10n.js";
import type { ChatViews } from "./chatViews.js";

const SHOW = t("Show Chat");

export interface NoticeHost {
  readonly views: Pick<ChatViews, "isShowing" | "onDidChange">;
  /** Show the session that asked a question, and focus the question. */
  show(questionId: string): Promise<void>;
  /** Reject what a question asks permission for. */
  reject(questionId: string): Promise<void>;
}

/** Tell of a question until it is answered or in view. */
export async function showNotice(host: NoticeHost, question: AskedQuestion): Promise<void> {
  const { views } = host;
  const { questionId, sessionId, agent, text, isPermission, answered } = question;
  // VS Code would make links of the agent's text, also such that run commands.
  const asked = t("{0} asks: {1}", agent || "Hermes", text.replaceAll("](", "] ("));
  const command = `acpServer.reject.${questionId}`;
  const title = isPermission ? `${asked} — [${t("Reject")}](command:${command})` : asked;
  // VS Code takes the label of the button, too, which its types do not say.
  const options = { location: ProgressLocation.Notification, title, cancellable: SHOW as unknown as boolean };
  const subscriptions: { dispose(): void }[] = [commands.registerCommand(command, () => host.reject(questionId))];
  await window.withProgress(options, (_progress, token) =>
    new Promise<void>((resolve) => {
      const look = (): void => {
        if (views.isShowing(sessionId)) resolve();
      };
      const open = (): void => {
        resolve();
        void host.show(questionId);
      };
      subscriptions.push(views.onDidChange(look), window.onDidChangeWindowState(look), token.onCancellationRequested(open));
      void answered.then(() => { resolve(); });
    }),
  );
  for (const each of subscriptions) each.dispose();
}
