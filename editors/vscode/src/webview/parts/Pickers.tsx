/** Pickers for the agent's options: mode, model and others. */
import type { SessionConfigOption, SessionConfigSelectOptions, SessionModeState } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon, IconButton } from "../Icon.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

/** Longer names are cut where there is no space. */
const LONGEST_WHOLE_NAME = 6;

interface PickersProps {
  readonly modes: SessionModeState | null;
  readonly options: readonly SessionConfigOption[];
}

/**
 * Options in the agent's order. Modes have their own picker unless an option of category `mode` exists.
 *
 * Options of the agent's own categories, which start with an underscore, are in a panel with their names: their
 * values alone tell too little.
 */
export function Pickers({ modes, options }: PickersProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const hasMode = options.some(({ category }) => category === "mode");
  const [more, shown] = [true, false].map((isMore) => options.filter((option) => isOwn(option.category) === isMore)) as [
    SessionConfigOption[],
    SessionConfigOption[],
  ];
  return (
    <>
      {!hasMode && modes !== null && <ModePicker modes={modes} />}
      {shown.map((option) => (
        <OptionPicker key={option.id} option={option} />
      ))}
      {more.length > 0 && (
        <IconButton
          icon="settings"
          label={t("More options")}
          testId="more-options"
          isPressed={isOpen}
          onPress={() => {
            setIsOpen(!isOpen);
          }}
        />
      )}
      {isOpen && <MoreOptions options={more} />}
    </>
  );
}

function isOwn(category: SessionConfigOption["category"]): boolean {
  return typeof category === "string" && category.startsWith("_");
}

function MoreOptions({ options }: { options: readonly SessionConfigOption[] }): JSX.Element {
  return (
    <div class="more-options" role="group" aria-label={t("More options")}>
      {options.map((option) => (
        <div key={option.id} title={option.description ?? option.name}>
          <span class="option-name">{option.name}</span>
          <OptionPicker option={option} />
        </div>
      ))}
    </div>
  );
}

function ModePicker({ modes }: { modes: SessionModeState }): JSX.Element {
  const { post } = useHost();
  const choices = modes.availableModes.map(({ id, ...mode }) => ({ ...mode, value: id }));
  return (
    <Select
      label={t("Mode")}
      testId="picker-mode"
      value={modes.currentModeId}
      choices={choices}
      onChoose={(modeId) => {
        post({ type: "setMode", modeId });
      }}
    />
  );
}

/** Whether the values of an option, such as "medium", do not tell what they are values of. */
function needsName({ category }: SessionConfigOption): boolean {
  return category !== "mode" && category !== "model" && !isOwn(category);
}

function OptionPicker({ option }: { option: SessionConfigOption }): JSX.Element {
  const { post } = useHost();
  const { id: optionId, name } = option;
  if (option.type === "boolean") {
    return (
      <label class="toggle" title={[name, option.description].filter(Boolean).join(": ")}>
        <input
          type="checkbox"
          checked={option.currentValue}
          data-testid={`picker-${optionId}`}
          onChange={(event) => {
            post({ type: "setOption", optionId, value: event.currentTarget.checked });
          }}
        />
        <span class="picker-value">{name}</span>
      </label>
    );
  }
  return (
    <Select
      label={name}
      isNamed={needsName(option)}
      testId={`picker-${optionId}`}
      value={option.currentValue}
      choices={flattenOptions(option.options)}
      onChoose={(value) => {
        post({ type: "setOption", optionId, value });
      }}
    />
  );
}

interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description?: string | null;
  readonly group?: string;
}

function flattenOptions(options: SessionConfigSelectOptions): Choice[] {
  return options.flatMap((each): Choice[] => {
    if (!("options" in each)) return [each];
    return each.options.map((option) => ({ ...option, group: each.name }));
  });
}

interface SelectProps {
  readonly label: string;
  /** Whether the label is shown before the value. */
  readonly isNamed?: boolean;
  readonly testId: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChoose: (value: string) => void;
}

function Select({ label, isNamed = false, testId, value, choices, onChoose }: SelectProps): JSX.Element {
  const { name, description } = choices.find((choice) => choice.value === value) ?? { name: value };
  return (
    <span class={name.length > LONGEST_WHOLE_NAME ? "picker long" : "picker"} title={[`${label}: ${name}`, description].filter(Boolean).join("\n")}>
      <span class="picker-value" aria-hidden="true">
        {isNamed ? `${label}: ${name}` : name}
      </span>
      <Icon name="chevronDown" />
      <select
        aria-label={label}
        data-testid={testId}
        value={value}
        onChange={(event) => {
          onChoose(event.currentTarget.value);
        }}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.group === undefined ? choice.name : `${choice.group}: ${choice.name}`}
          </option>
        ))}
      </select>
    </span>
  );
}
