/** Component that re-renders only when its props change. Preact's own is in a layer that is half as large as Preact. */
import { Component, h, type FunctionComponent, type VNode } from "preact";

/** Return a component that keeps its output while `isSame`, by default a shallow comparison, holds. */
export function memo<P extends object>(
  render: FunctionComponent<P>,
  isSame: (before: P, after: P) => boolean = isShallowEqual,
): new (props: P) => Component<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !isSame(this.props, next);
    }

    override render(): VNode {
      return h(render, this.props as P & preact.Attributes) as VNode;
    }
  };
}

function isShallowEqual<P extends object>(before: P, after: P): boolean {
  const names = Object.keys(after) as (keyof P)[];
  return names.length === Object.keys(before).length && names.every((name) => before[name] === after[name]);
}
