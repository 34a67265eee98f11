/**
 * The oldest open question, docked above the input so that it is always in view.
 *
 * Shows everything that the user must see to answer it: the whole command, the diff, the reason.
 */
import type { JSX } from "preact";
import type { Question, SessionState, ToolCallState } from "../../shared/state.js";
import { CommandText } from "../CommandText.js";
import { Icon, IconButton } from "../Icon.js";
import { Markdown } from "../markdown/Markdown.js";
import { DiffView } from "./DiffView.js";
import { ElicitationCard } from "./ElicitationCard.js";
import { PermissionCard } from "./PermissionCard.js";
import { commandOf, KIND_ICONS, Title } from "./ToolCard.js";
import { t } from "../../shared/l10n.js";

/** Dispatched on the document with the id of a tool call that the transcript scrolls to. */
export const REVEAL_CALL_EVENT = "reveal-call";

export function QuestionDock({ session }: { session: SessionState }): JSX.Element | null {
  const [question] = session.questions;
  if (question === undefined) return null;
  const waiting = session.questions.length - 1;
  return (
    <div class="question-dock" data-testid="question-dock">
      {waiting > 0 && (
        <p class="waiting" data-testid="questions-waiting">
          {waiting === 1 ? t("1 more question waits") : t("{0} more questions wait", waiting)}
        </p>
      )}
      <QuestionBody question={question} session={session} />
    </div>
  );
}

function QuestionBody({ question, session }: { question: Question; session: SessionState }): JSX.Element {
  if (question.kind === "elicitation") return <ElicitationCard key={question.id} request={question.request} />;
  const item = session.items.findLast((each) => each.kind === "call" && each.call.id === question.callId);
  const call = item?.kind === "call" ? item.call : null;
  return (
    <>
      {call === null ? <p class="question-title">{question.title}</p> : <AskedCall key={question.id} call={call} />}
      <PermissionCard question={question} />
    </>
  );
}

function AskedCall({ call }: { call: ToolCallState }): JSX.Element {
  const command = commandOf(call);
  const texts = call.content.flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
  const isCommandShown = command === "" || texts.some((text) => text.includes(command));
  return (
    <>
      <div class="question-title">
        <Icon name={KIND_ICONS[call.kind]} />
        {command === "" ? <Title text={call.title === "" ? call.name : call.title} /> : <span class="title">{t("Run this command?")}</span>}
        <IconButton
          icon="goToFile"
          label={t("Show in the conversation")}
          testId="question-reveal"
          onPress={() => {
            document.dispatchEvent(new CustomEvent(REVEAL_CALL_EVENT, { detail: call.id }));
          }}
        />
      </div>
      <div class="question-body" tabIndex={0} role="group" aria-label={t("What is asked")} data-testid="question-body">
        {!isCommandShown && <pre class="command"><CommandText text={command} /></pre>}
        {texts.map((text, index) => (
          <Markdown key={index} text={text} isGrowing={false} />
        ))}
        {call.content.map((part, index) =>
          part.type === "diff" ? <DiffView key={index} diff={part} callId={call.id} isGrowing={false} /> : null,
        )}
      </div>
    </>
  );
}
