/** Icons as inline SVG, so that no icon font has to be loaded. */
import add from "codicon:add";
import archive from "codicon:archive";
import arrowDown from "codicon:arrow-down";
import beaker from "codicon:beaker";
import book from "codicon:book";
import check from "codicon:check";
import chevronDown from "codicon:chevron-down";
import chevronRight from "codicon:chevron-right";
import circle from "codicon:circle";
import close from "codicon:close";
import attach from "codicon:attach";
import bell from "codicon:bell";
import comment from "codicon:comment";
import copy from "codicon:copy";
import goToFile from "codicon:go-to-file";
import settings from "codicon:settings";
import symbol from "codicon:symbol-method";
import diff from "codicon:diff";
import discard from "codicon:discard";
import edit from "codicon:edit";
import error from "codicon:error";
import eye from "codicon:eye";
import file from "codicon:file";
import folder from "codicon:folder";
import fork from "codicon:repo-forked";
import globe from "codicon:globe";
import history from "codicon:history";
import info from "codicon:info";
import lightbulb from "codicon:lightbulb";
import list from "codicon:checklist";
import loading from "codicon:loading";
import lock from "codicon:lock";
import move from "codicon:arrow-swap";
import question from "codicon:question";
import refresh from "codicon:refresh";
import search from "codicon:search";
import send from "codicon:send";
import sparkle from "codicon:hubot";
import stop from "codicon:stop-circle";
import terminal from "codicon:terminal";
import tools from "codicon:tools";
import trash from "codicon:trash";
import warning from "codicon:warning";
import type { JSX } from "preact";

const ICONS = {
  add,
  attach,
  bell,
  comment,
  copy,
  goToFile,
  settings,
  symbol,
  arrowDown,
  beaker,
  book,
  check,
  chevronDown,
  chevronRight,
  circle,
  close,
  diff,
  discard,
  edit,
  error,
  eye,
  file,
  folder,
  fork,
  globe,
  history,
  info,
  lightbulb,
  list,
  loading,
  lock,
  move,
  question,
  refresh,
  search,
  send,
  sparkle,
  stop,
  terminal,
  tools,
  trash,
  archive,
  warning,
} as const;

export type IconName = keyof typeof ICONS;

/** A decorative icon, hidden from screen readers: the text next to it has the meaning. */
export function Icon({ name, spins = false }: { name: IconName; spins?: boolean }): JSX.Element {
  return (
    <svg class={spins ? "icon spins" : "icon"} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {ICONS[name].map((data) => (
        <path key={data} d={data} fill="currentColor" fill-rule="evenodd" clip-rule="evenodd" />
      ))}
    </svg>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly testId: string;
  readonly isPressed?: boolean;
  readonly onPress: () => void;
}

/** An icon-only button; its label is also its tooltip. */
export function IconButton({ icon, label, testId, isPressed, onPress }: IconButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class="icon-button"
      title={label}
      aria-label={label}
      aria-pressed={isPressed}
      data-testid={testId}
      onClick={onPress}
    >
      <Icon name={icon} />
    </button>
  );
}
