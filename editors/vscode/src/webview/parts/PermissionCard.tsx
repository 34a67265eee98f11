/**
 * Permission request of a tool call.
 *
 * Answered only by a click or by the keys y, a and n. The reject button gets the focus, so that an
 * accidental Enter rejects.
 */
import type { PermissionOption, PermissionOptionKind } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { PermissionQuestion } from "../../shared/state.js";
import { focusUnlessTyping, KEY_GUARD_MILLISECONDS } from "../focus.js";
import { useHost } from "../hostContext.js";

const KEYS: Readonly<Record<string, PermissionOptionKind>> = {
  y: "allow_once",
  a: "allow_always",
  n: "reject_once",
};

export function PermissionCard({ question }: { question: PermissionQuestion }): JSX.Element {
  const { post } = useHost();
  const reject = useRef<HTMLButtonElement>(null);
  const { id: questionId, options } = question;
  const focused = options.find(({ kind }) => kind === "reject_once") ?? options.at(-1);
  const shownAt = useRef(0);
  useEffect(() => {
    shownAt.current = Date.now();
    return focusUnlessTyping(reject.current);
  }, [questionId]);
  const choose = (option: PermissionOption): void => {
    post({ type: "permit", questionId, optionId: option.optionId });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const kind = KEYS[event.key.toLowerCase()];
    if (kind === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (Date.now() - shownAt.current < KEY_GUARD_MILLISECONDS) return;
    const option = options.find((each) => each.kind === kind);
    if (option === undefined) return;
    event.preventDefault();
    choose(option);
  };
  return (
    <div
      class="permission"
      role="group"
      aria-label={`Permission: ${question.title}`}
      data-testid="permission"
      data-question-id={questionId}
      onKeyDown={onKeyDown}
    >
      {options.map((option) => (
        <button
          key={option.optionId}
          type="button"
          class={option.kind === "allow_once" ? "primary" : "secondary"}
          ref={option === focused ? reject : null}
          data-testid={`permission-${option.kind}`}
          data-option-id={option.optionId}
          onClick={() => {
            choose(option);
          }}
        >
          {option.name}
          <KeyHint option={option} options={options} />
        </button>
      ))}
    </div>
  );
}

/** Keyboard hint of an option, shown only on the first option of its kind. */
function KeyHint({ option, options }: { option: PermissionOption; options: readonly PermissionOption[] }): JSX.Element | null {
  const [key] = Object.entries(KEYS).find(([, kind]) => kind === option.kind) ?? [];
  const isFirst = options.find(({ kind }) => kind === option.kind) === option;
  return key !== undefined && isFirst ? <kbd>{key}</kbd> : null;
}
