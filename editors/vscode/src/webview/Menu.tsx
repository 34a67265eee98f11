/** Button that opens a menu below it; operated by mouse and by keyboard. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon.js";

export interface MenuItem {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly testId: string;
}

/** Space between a menu and the end of the page, in pixels. */
const MARGIN_PIXELS = 4;

interface MenuProps {
  readonly label: ComponentChildren;
  readonly title: string;
  readonly testId: string;
  readonly items: readonly MenuItem[];
  /** What is true of all items, above them. */
  readonly note?: string;
  readonly isOpen: boolean;
  /** Where the menu opens if there is no room below: above the button, or below the button, which is lifted by the room that is missing. */
  readonly whenNoRoom: "above" | "lift";
  readonly onOpen: (isOpen: boolean) => void;
  readonly onChoose: (id: string) => void;
}

export function Menu({ label, title, testId, items, note = "", isOpen, whenNoRoom, onOpen, onChoose }: MenuProps): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [lift, setLift] = useState(0);
  useEffect(() => {
    if (isOpen) root.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
  }, [isOpen]);
  const close = (): void => {
    onOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    const entries = [...(root.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const index = entries.findIndex((entry) => entry === document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") entries[(index + 1) % entries.length]?.focus();
    else if (event.key === "ArrowUp") entries[(index + entries.length - 1) % entries.length]?.focus();
    else if (event.key === "Enter" || event.key === " " || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation(); // the keys of the question below must not answer it
  };
  const onFocusOut = (event: FocusEvent): void => {
    const next = event.relatedTarget;
    if (isOpen && !(next instanceof Node && root.current?.contains(next) === true)) onOpen(false);
  };
  return (
    <div class="menu" style={isOpen && whenNoRoom === "lift" ? { "--lift": `${String(lift)}px` } : {}} ref={root} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <button
        type="button"
        class="secondary"
        title={title}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        ref={button}
        data-testid={testId}
        onClick={() => {
          onOpen(!isOpen);
        }}
      >
        {label}
        <Icon name="chevronDown" />
      </button>
      {isOpen && (
        <MenuItems title={title} note={note} isAbove={whenNoRoom === "above" && lift > 0} onMissingRoom={setLift}>
          {items.map((item) => (
            <button
              key={item.id}
              type="button"
              role="menuitem"
              tabIndex={-1}
              data-testid={item.testId}
              data-option-id={item.id}
              onClick={() => {
                onChoose(item.id);
              }}
            >
              {item.label}
            </button>
          ))}
        </MenuItems>
      )}
    </div>
  );
}

interface MenuItemsProps {
  readonly title: string;
  readonly note: string;
  readonly isAbove: boolean;
  /** Called with the number of pixels by which the menu is taller than the room below the button; 0 when it is closed. */
  readonly onMissingRoom: (pixels: number) => void;
  readonly children: ComponentChildren;
}

function MenuItems({ title, note, isAbove, onMissingRoom, children }: MenuItemsProps): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const bottom = element.current?.getBoundingClientRect().bottom ?? 0;
    onMissingRoom(Math.max(0, Math.ceil(bottom + MARGIN_PIXELS - window.innerHeight)));
    return () => {
      onMissingRoom(0);
    };
  }, []);
  return (
    <div class={isAbove ? "menu-items" : "menu-items below"} role="menu" aria-label={title} ref={element}>
      {note !== "" && <p class="small" role="none">{note}</p>}
      {children}
    </div>
  );
}
