/**
 * What was said and done, in order.
 *
 * Owns the scrolling: the end stays in sight unless the user looks at something else.
 */
import { memo } from "preact/compat";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Item, PermissionQuestion, Question, SessionState, ViewState } from "../shared/state.js";
import { Icon } from "./Icon.js";
import { ElicitationCard } from "./parts/ElicitationCard.js";
import { Compaction, Ending, Media, Notice, Said, Thought, User } from "./parts/Entries.js";
import { PermissionCard } from "./parts/PermissionCard.js";
import { ToolCard } from "./parts/ToolCard.js";

/** So near to the end counts as at the end, in pixels. */
const NEAR = 40;

export function Transcript({ state }: { state: ViewState }): JSX.Element {
  const { session } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const toEnd = (): void => {
    const node = scroller.current;
    if (isAtEnd && node !== null) node.scrollTop = node.scrollHeight;
  };
  useLayoutEffect(toEnd);
  useResize(scroller, toEnd);
  const onScroll = (): void => {
    const node = scroller.current;
    if (node !== null) setIsAtEnd(node.scrollHeight - node.scrollTop - node.clientHeight < NEAR);
  };
  return (
    <div class="transcript-frame">
      <div
        class="transcript"
        role="log"
        aria-label="Conversation"
        aria-live="off"
        aria-busy={session.isRunning}
        tabIndex={0}
        ref={scroller}
        onScroll={onScroll}
        data-testid="transcript"
      >
        {session.isLoading && <p class="loading">Loading the session…</p>}
        {session.items.map((item, index) => (
          <Entry key={item.key} item={item} {...surroundingsOf(item, index, session)} />
        ))}
        {session.questions.map((question) => (
          <Loose key={question.id} question={question} session={session} />
        ))}
        {session.isRunning && session.questions.length === 0 && <Working />}
      </div>
      {!isAtEnd && (
        <button type="button" class="to-end" data-testid="scroll-to-end" onClick={() => { setIsAtEnd(true); }}>
          <Icon name="arrowDown" /> Latest
        </button>
      )}
    </div>
  );
}

/** Call back when a part's size changes, as it does when something beside it unfolds. */
function useResize(part: { readonly current: Element | null }, onResize: () => void): void {
  const latest = useRef(onResize);
  latest.current = onResize;
  useLayoutEffect(() => {
    if (part.current === null || typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(() => {
      latest.current();
    });
    observer.observe(part.current);
    return () => {
      observer.disconnect();
    };
  }, [part]);
}

function Working(): JSX.Element {
  return (
    <p class="working" data-testid="working">
      <span class="dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      Working…
    </p>
  );
}

interface Surroundings {
  readonly isGrowing: boolean;
  readonly question: PermissionQuestion | undefined;
  /** Only what a call's own terminals need, so that others are not drawn again. */
  readonly terminals: SessionState["terminals"] | undefined;
}

function surroundingsOf(item: Item, index: number, session: SessionState): Surroundings {
  const isLast = index === session.items.length - 1;
  const isCall = item.kind === "call";
  const hasTerminal = isCall && item.call.content.some(({ type }) => type === "terminal");
  return {
    isGrowing: session.isRunning && isLast,
    question: isCall ? permissionOf(item.call.id, session.questions) : undefined,
    terminals: hasTerminal ? session.terminals : undefined,
  };
}

function permissionOf(callId: string, questions: readonly Question[]): PermissionQuestion | undefined {
  return questions.find(
    (each): each is PermissionQuestion => each.kind === "permission" && each.callId === callId,
  );
}

const Entry = memo(function Entry({
  item,
  isGrowing,
  question,
  terminals,
}: { item: Item } & Surroundings): JSX.Element {
  switch (item.kind) {
    case "user":
      return <User item={item} />;
    case "agent":
      return <Said text={item.text} isGrowing={isGrowing} />;
    case "thought":
      return <Thought text={item.text} isGrowing={isGrowing} />;
    case "media":
      return <Media block={item.block} />;
    case "call":
      return <ToolCard call={item.call} question={question} terminals={terminals} />;
    case "notice":
      return <Notice item={item} />;
    case "compaction":
      return <Compaction item={item} />;
    case "ending":
      return <Ending reason={item.reason} error={item.error} />;
  }
});

/** A question whose call is not shown. */
function Loose({ question, session }: { question: Question; session: SessionState }): JSX.Element | null {
  if (question.kind === "elicitation") return <ElicitationCard asked={question.asked} />;
  const isShown = session.items.some((item) => item.kind === "call" && item.call.id === question.callId);
  return isShown ? null : <PermissionCard question={question} />;
}
