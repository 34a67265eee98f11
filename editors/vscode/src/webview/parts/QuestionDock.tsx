/**
 * The oldest open question, docked above the input so that it is always in view.
 *
 * Shows everything that the user must see to answer it: the whole command, the diff, the reason. Where they do not
 * fit, command and diff scroll between what stays in view: the summary above, and the reason and the answers below.
 */
import type { JSX } from "preact";
import type { PermissionQuestion, Question, SessionState, ToolCallState } from "../../shared/state.js";
import { CommandText } from "../CommandText.js";
import { Icon, IconButton } from "../Icon.js";
import { LineCounts } from "../LineCounts.js";
import { Markdown } from "../markdown/Markdown.js";
import { REST_ID, type HiddenRest, type SeenToEnd, useSeenToEnd } from "../seenToEnd.js";
import { countOf, type Diff, DiffView } from "./DiffView.js";
import { ElicitationCard } from "./ElicitationCard.js";
import { PermissionCard } from "./PermissionCard.js";
import { commandOf, KIND_ICONS, Title } from "./ToolCard.js";
import { t } from "../../shared/l10n.js";

/** Dispatched on the document with the id of a tool call that the transcript scrolls to. */
export const REVEAL_CALL_EVENT = "reveal-call";
/** A last paragraph that is not longer stays in view: it says why the user is asked. */
const MAX_REASON_CHARACTERS = 160;

export function QuestionDock({ session, isConnected }: { session: SessionState; isConnected: boolean }): JSX.Element | null {
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
      {/* A server that has stopped receives no answer. */}
      <fieldset class="question-parts" disabled={!isConnected}>
        <QuestionBody key={question.id} question={question} session={session} />
      </fieldset>
    </div>
  );
}

function QuestionBody({ question, session }: { question: Question; session: SessionState }): JSX.Element {
  if (question.kind === "elicitation") return <ElicitationCard request={question.request} />;
  const item = session.items.findLast((each) => each.kind === "call" && each.call.id === question.callId);
  return <AskedCall question={question} call={item?.kind === "call" ? item.call : null} />;
}

function AskedCall({ question, call }: { question: PermissionQuestion; call: ToolCallState | null }): JSX.Element {
  const seen = useSeenToEnd(call?.content);
  return (
    <>
      {call === null ? <p class="question-title">{question.title}</p> : <CallContent call={call} seen={seen} />}
      <PermissionCard question={question} seen={seen} />
    </>
  );
}

function CallContent({ call, seen }: { call: ToolCallState; seen: SeenToEnd }): JSX.Element {
  const command = commandOf(call);
  const texts = call.content.flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text.trim()] : [],
  );
  const diffs = call.content.filter((part) => part.type === "diff");
  const isCommandShown = command === "" || texts.some((text) => text.includes(command));
  const reason = isReason(texts.at(-1)) ? texts.pop() : undefined;
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
      {diffs.length > 1 && <DiffSummary diffs={diffs} />}
      <div
        class="question-body"
        tabIndex={0}
        role="group"
        aria-label={t("What is asked")}
        data-testid="question-body"
        ref={seen.body}
        onScroll={seen.look}
      >
        {!isCommandShown && <pre class="command"><CommandText text={command} /></pre>}
        {texts.map((text, index) => (
          <Markdown key={index} text={text} isGrowing={false} />
        ))}
        {diffs.map((diff, index) => (
          <DiffView key={index} diff={diff} callId={call.id} isGrowing={false} />
        ))}
      </div>
      {seen.rest !== null && <RestButton rest={seen.rest} onPress={seen.showNext} />}
      {reason !== undefined && (
        <div class="question-reason" data-testid="question-reason">
          <Markdown text={reason} isGrowing={false} />
        </div>
      )}
    </>
  );
}

/** Whether a text is short enough to stay in view: one paragraph. */
function isReason(text: string | undefined): text is string {
  return text !== undefined && text.length <= MAX_REASON_CHARACTERS && !/[\n`]{2}/.test(text) && !text.startsWith("#");
}

/** The size of a change of several files, of which some may be out of view. */
function DiffSummary({ diffs }: { diffs: readonly Diff[] }): JSX.Element {
  const files = new Set(diffs.map(({ path }) => path)).size;
  return (
    <p class="question-summary" data-testid="question-summary">
      <span>{files === 1 ? t("1 file") : t("{0} files", files)}</span> <LineCounts {...countOf(diffs)} hasZeros />
    </p>
  );
}

function RestButton({ rest: { files, lines }, onPress }: { rest: HiddenRest; onPress: () => void }): JSX.Element {
  const linesText = lines === 1 ? t("1 more line") : t("{0} more lines", lines);
  const filesText = files === 1 ? t("1 more file") : t("{0} more files", files);
  return (
    <button
      type="button"
      class="more question-rest"
      id={REST_ID}
      title={t("Show the rest, which must be seen before it can be allowed")}
      data-testid="question-rest"
      onClick={onPress}
    >
      {files > 0 ? filesText : linesText} <Icon name="arrowDown" />
    </button>
  );
}
