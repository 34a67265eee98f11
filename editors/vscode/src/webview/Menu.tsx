/** Button that opens a menu; operated by mouse and by keyboard. */
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
  readonly onOpen: (isOpen: boolean) => void;
  readonly onChoose: (id: string) => void;
}

export function Menu({ label, title, testId, items, note = "", isOpen, onOpen, onChoose }: MenuProps): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
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
    <div class="menu" ref={root} onClickCapture={ignoreRepeatedClick} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
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
        <MenuItems title={title} note={note}>
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

/** The second click of a double click, in one place, was meant for the button: it must not choose what has come under the pointer. */
function ignoreRepeatedClick(event: MouseEvent): void {
  if (event.detail > 1) event.stopPropagation();
}

interface MenuItemsProps {
  readonly title: string;
  readonly note: string;
  readonly children: ComponentChildren;
}

/** Opens below what it belongs to, or above it where there is more room, and moves nothing; scrolls where neither has enough. */
function MenuItems({ title, note, children }: MenuItemsProps): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const [{ isAbove, room }, setPlace] = useState({ isAbove: false, room: 0 });
  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return;
    const { top, bottom } = node.getBoundingClientRect();
    const below = window.innerHeight - top - MARGIN_PIXELS;
    const above = (node.offsetParent?.getBoundingClientRect().top ?? 0) - MARGIN_PIXELS;
    const isRoomAbove = bottom - top > below && above > below;
    setPlace({ isAbove: isRoomAbove, room: isRoomAbove ? above : below });
  }, []);
  return (
    <div class={isAbove ? "menu-items" : "menu-items below"} style={room > 0 ? { maxHeight: room } : {}} role="menu" aria-label={title} ref={element}>
      {note !== "" && <p class="small" role="none">{note}</p>}
      {children}
    </div>
  );
}
