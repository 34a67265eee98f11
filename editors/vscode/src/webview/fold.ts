/** Whether a panel of the dock is open. */
import { useState } from "preact/hooks";

/**
 * Return whether a panel is open, and the function that opens or closes it.
 *
 * A question needs the space of the dock: while one is open, the panel is closed until the user opens it for
 * this question. Afterwards it is as it was before.
 *
 * @param questionId Id of the open question; empty if there is none.
 */
export function useFold(questionId: string): readonly [isOpen: boolean, toggle: () => void] {
  const [isOpenWithout, setIsOpenWithout] = useState(false);
  const [openedFor, setOpenedFor] = useState("");
  if (questionId === "") {
    return [isOpenWithout, () => { setIsOpenWithout(!isOpenWithout); }];
  }
  const isOpen = openedFor === questionId;
  return [isOpen, () => { setOpenedFor(isOpen ? "" : questionId); }];
}
