/** Button that opens a menu below it, or above it if there is no room; operated by mouse and by keyboard. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon.js";

export interface MenuItem {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly testId: string;
}

interface MenuProps {
  readonly label: ComponentChildren;
  readonly title: string;
  readonly testId: string;
  readonly items: readonly MenuItem[];
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
  readonly onChoose: (id: string) => void;
}

export function Menu({ label, title, testId, items, isOpen, onOpen, onChoose }: MenuProps): JSX.Element {
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
    <div class="menu" ref={root} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
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
        <MenuItems title={title}>
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

/** The opened menu: below, so that what is asked above the button stays readable, unless the page ends there. */
function MenuItems({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const [isBelow, setIsBelow] = useState(true);
  useLayoutEffect(() => {
    if (element.current !== null) setIsBelow(element.current.getBoundingClientRect().bottom <= window.innerHeight);
  }, []);
  return (
    <div class={isBelow ? "menu-items below" : "menu-items"} role="menu" aria-label={title} ref={element}>
      {children}
    </div>
  );
}
