/**
 * One open question, docked above the input so that it is always in view: the oldest, or another that the user looks at.
 *
 * Shows everything that the user must see to answer it: the whole command, the diff, the reason. Where they do not
 * fit, command and diff scroll between what stays in view: the heading above, and the reason and the answers below.
 */
import type { JSX } from "preact";
import { useRef, useState, type MutableRef } from "preact/hooks";
import { NO_PARTS, type PermissionQuestion, type Question, type SessionState, type ToolCallState } from "../../shared/state.js";
import { CommandText } from "../CommandText.js";
import { useFolder } from "../hostContext.js";
import { Icon, IconButton } from "../Icon.js";
import { InlineCode } from "../InlineCode.js";
import { LineCounts } from "../LineCounts.js";
import { Markdown } from "../markdown/Markdown.js";
import { headingOf, isSaidBy } from "../questionHeading.js";
import { REST_ID, type HiddenRest, type SeenToEnd, useSeenToEnd } from "../seenToEnd.js";
import { countOf, DiffFacts, DiffView, namedDiff } from "./DiffView.js";
import { ElicitationCard } from "./ElicitationCard.js";
import { filesBelow } from "./MoreBelow.js";
import { isPlainKey, PermissionCard } from "./PermissionCard.js";
import { commandOf, KIND_ICONS } from "./ToolCard.js";
import { t } from "../../shared/l10n.js";

/** Dispatched on the document with the id of a tool call that the transcript scrolls to. */
export const REVEAL_CALL_EVENT = "reveal-call";
/** A last paragraph that is not longer stays in view: it says why the user is asked. */
const MAX_REASON_CHARACTERS = 160;
/** By how many questions a key goes on. */
const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
export function QuestionDock({ session: { questions, items }, isConnected }: { session: SessionState; isConnected: boolean }): JSX.Element | null {
  const shown = useRef({ id: "", index: 0 });
  const movedAt = useRef(-Infinity);
  const [said, setSaid] = useState("");
  const count = questions.length;
  const found = questions.findIndex(({ id }) => id === shown.current.id);
  // Where the one that was shown is answered or withdrawn, the one behind it takes its place.
  const index = found < 0 ? Math.min(shown.current.index, count - 1) : found;
  const question = questions[index];
  if (question === undefined) {
    shown.current = { id: "", index: 0 };
    return null;
  }
  const show = (next: number, id: string): void => {
    // What was meant for one question must not answer another one.
    if (shown.current.id !== "") movedAt.current = Date.now();
    shown.current = { id, index: next };
  };
  if (found < 0) show(index, question.id);
  shown.current.index = index;
  const go = (step: number): void => {
    const next = (index + step + count) % count;
    const { id, ...other } = questions[next] ?? question;
    show(next, id);
    setSaid(t("Question {0} of {1}: {2}", next + 1, count, other.kind === "permission" ? other.title : other.request.message));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    const target = event.target as HTMLElement;
    if (step === undefined || count < 2 || !isPlainKey(event) || target.closest("select, textarea") !== null) return;
    event.preventDefault();
    go(step);
    if (target.closest(".waiting") === null) requestAnimationFrame(focusQuestion);
  };
  return (
    <div class="question-dock" data-testid="question-dock" onKeyDown={onKeyDown}>
      {count > 1 && (
        <div class="waiting" role="group" aria-label={t("Waiting questions")}>
          <IconButton icon="chevronRight" label={t("Previous question (←)")} testId="question-previous" onPress={() => { go(-1); }} />
          <span data-testid="questions-waiting">{t("{0} of {1}", index + 1, count)}</span>
          <IconButton icon="chevronRight" label={t("Next question (→)")} testId="question-next" onPress={() => { go(1); }} />
          <span class="visually-hidden" role="status">{said}</span>
        </div>
      )}
      {/* A server that has stopped receives no answer. */}
      <fieldset class="question-parts" disabled={!isConnected}>
        <QuestionBody key={question.id} question={question} items={items} movedAt={movedAt} />
      </fieldset>
    </div>
  );
}

/** Focus the safe answer, or where there is none what comes first: the button for the next question, or a field. */
export function focusQuestion(): void {
  const find = (selector: string): HTMLElement | null => document.querySelector(`.question-dock ${selector}`);
  (find('[data-testid^="permission-reject"]') ?? find('[data-testid="question-next"]') ?? find("input"))?.focus();
}

interface QuestionBodyProps<Asked> {
  readonly question: Asked;
  /** When another question took the place of one, or a part of one was brought into view. */
  readonly movedAt: MutableRef<number>;
}

function QuestionBody({ question, items, movedAt }: QuestionBodyProps<Question> & Pick<SessionState, "items">): JSX.Element {
  if (question.kind === "elicitation") return <ElicitationCard request={question.request} />;
  const item = items.findLast((each) => each.kind === "call" && each.call.id === question.callId);
  return <AskedCall question={question} call={item?.kind === "call" ? item.call : null} movedAt={movedAt} />;
}

function AskedCall({ question, call, movedAt }: QuestionBodyProps<PermissionQuestion> & { call: ToolCallState | null }): JSX.Element {
  const seen = useSeenToEnd(question, [call?.content, call?.rawInput, call?.title], movedAt);
  const isCommand = call !== null && commandOf(call) !== "";
  return (
    <>
      {call === null ? <p class="question-title">{question.title}</p> : <CallContent call={call} seen={seen} />}
      <PermissionCard question={question} parts={call?.parts ?? NO_PARTS} seen={seen} isCommand={isCommand} />
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
  const folder = useFolder();
  const heading = headingOf(call, command, folder);
  const named = namedDiff(call, heading, folder);
  const title = call.title === "" ? call.name : call.title;
  return (
    <>
      <div class="question-title">
        <Icon name={KIND_ICONS[call.kind]} />
        <span class="title"><InlineCode text={heading} /></span>
        {named !== undefined && <DiffFacts diff={named} call={call} isGrowing={false} counts={countOf(diffs, call.parts.rejected)} />}
        {diffs.length > 1 && <span data-testid="question-summary"><LineCounts {...countOf(diffs, call.parts.rejected)} /></span>}
        <IconButton
          icon="goToFile"
          label={t("Show in the conversation")}
          testId="question-reveal"
          onPress={() => {
            document.dispatchEvent(new CustomEvent(REVEAL_CALL_EVENT, { detail: call.id }));
          }}
        />
      </div>
      <div
        class="question-body"
        tabIndex={0}
        role="group"
        aria-label={t("What is asked")}
        data-testid="question-body"
        ref={seen.body}
        onScroll={seen.look}
      >
        {!isSaidBy(title, command, heading) && <p data-testid="question-thing"><InlineCode text={title} /></p>}
        {!isCommandShown && <pre class="command"><CommandText text={command} /></pre>}
        {texts.map((text, index) => (
          <Markdown key={index} text={text} isGrowing={false} />
        ))}
        {diffs.map((diff, index) => (
          <DiffView key={index} diff={diff} call={call} isGrowing={false} isNamed={diff === named} />
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

function RestButton({ rest: { files, lines }, onPress }: { rest: HiddenRest; onPress: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class="more question-rest"
      id={REST_ID}
      title={t("Show the rest, which must be seen before it can be allowed")}
      data-testid="question-rest"
      onClick={onPress}
    >
      {filesBelow(files, lines)} <Icon name="arrowDown" />
    </button>
  );
}
