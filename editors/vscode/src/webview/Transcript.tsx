/**
 * The conversation: messages, tool calls, notices and questions in order.
 *
 * Scrolls along with new content, unless the user has scrolled up.
 */
import { memo } from "preact/compat";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TranscriptItem, PermissionQuestion, Question, SessionState, ViewState } from "../shared/state.js";
import { Icon } from "./Icon.js";
import { ElicitationCard } from "./parts/ElicitationCard.js";
import { Compaction, TurnEndNotice, MediaBlock, Notice, AgentMessage, Thought, UserMessage } from "./parts/Entries.js";
import { PermissionCard } from "./parts/PermissionCard.js";
import { ToolCard } from "./parts/ToolCard.js";

/** Maximum distance to the end that counts as at the end, in pixels. */
const AT_END_PIXELS = 40;

export function Transcript({ state }: { state: ViewState }): JSX.Element {
  const { session } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const scrollToEnd = (): void => {
    const node = scroller.current;
    if (isAtEnd && node !== null) node.scrollTop = node.scrollHeight;
  };
  useLayoutEffect(scrollToEnd);
  useResize(scroller, scrollToEnd);
  const onScroll = (): void => {
    const node = scroller.current;
    if (node !== null) setIsAtEnd(node.scrollHeight - node.scrollTop - node.clientHeight < AT_END_PIXELS);
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
          <Entry key={item.key} item={item} {...entryContextOf(item, index, session)} />
        ))}
        {session.questions.map((question) => (
          <DetachedQuestion key={question.id} question={question} session={session} />
        ))}
        {session.isRunning && session.questions.length === 0 && <WorkingIndicator />}
      </div>
      {!isAtEnd && (
        <button type="button" class="to-end" data-testid="scroll-to-end" onClick={() => { setIsAtEnd(true); }}>
          <Icon name="arrowDown" /> Latest
        </button>
      )}
    </div>
  );
}

/** Call `onResize` when an element's size changes, e.g. because another panel expands. */
function useResize(element: { readonly current: Element | null }, onResize: () => void): void {
  const latest = useRef(onResize);
  latest.current = onResize;
  useLayoutEffect(() => {
    if (element.current === null || typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(() => {
      latest.current();
    });
    observer.observe(element.current);
    return () => {
      observer.disconnect();
    };
  }, [element]);
}

function WorkingIndicator(): JSX.Element {
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

interface EntryContext {
  readonly isGrowing: boolean;
  readonly question: PermissionQuestion | undefined;
  /** Undefined for entries without a terminal, so that terminal output does not re-render them. */
  readonly terminals: SessionState["terminals"] | undefined;
}

function entryContextOf(item: TranscriptItem, index: number, session: SessionState): EntryContext {
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
}: { item: TranscriptItem } & EntryContext): JSX.Element {
  switch (item.kind) {
    case "user":
      return <UserMessage item={item} />;
    case "agent":
      return <AgentMessage text={item.text} isGrowing={isGrowing} />;
    case "thought":
      return <Thought text={item.text} isGrowing={isGrowing} />;
    case "media":
      return <MediaBlock block={item.block} />;
    case "call":
      return <ToolCard call={item.call} question={question} terminals={terminals} />;
    case "notice":
      return <Notice item={item} />;
    case "compaction":
      return <Compaction item={item} />;
    case "ending":
      return <TurnEndNotice reason={item.reason} error={item.error} />;
  }
});

/** A question that is not attached to a shown tool call. */
function DetachedQuestion({ question, session }: { question: Question; session: SessionState }): JSX.Element | null {
  if (question.kind === "elicitation") return <ElicitationCard request={question.request} />;
  const isShown = session.items.some((item) => item.kind === "call" && item.call.id === question.callId);
  return isShown ? null : <PermissionCard question={question} />;
}
