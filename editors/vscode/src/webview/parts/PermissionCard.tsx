/**
 * The question whether a call may do what it shows.
 *
 * Owns the keys (y, a, n) and the focus, which is on rejecting. The answer to nothing is nothing:
 * only a press or a key answers.
 */
import type { PermissionOption, PermissionOptionKind } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { PermissionQuestion } from "../../shared/state.js";
import { focusQuietly, SETTLING_MILLISECONDS } from "../focus.js";
import { useHost } from "../posting.js";

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
    return focusQuietly(reject.current);
  }, [questionId]);
  const choose = (option: PermissionOption): void => {
    post({ type: "permit", questionId, optionId: option.optionId });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const kind = KEYS[event.key.toLowerCase()];
    if (kind === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (Date.now() - shownAt.current < SETTLING_MILLISECONDS) return;
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
          <Key option={option} options={options} />
        </button>
      ))}
    </div>
  );
}

/** The key that chooses an option, if it is the first of its kind. */
function Key({ option, options }: { option: PermissionOption; options: readonly PermissionOption[] }): JSX.Element | null {
  const [key] = Object.entries(KEYS).find(([, kind]) => kind === option.kind) ?? [];
  const isFirst = options.find(({ kind }) => kind === option.kind) === option;
  return key !== undefined && isFirst ? <kbd>{key}</kbd> : null;
}
