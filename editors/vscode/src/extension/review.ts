/** Entry of the bundle that is loaded with the first change: the review and its display in the editors. */
import type { EditorWindow } from "../host/ports.js";
import { ReviewService, type ReviewContext } from "../host/reviewService.js";
import { EditorReview } from "./editorReview.js";

export interface LoadedReview {
  readonly service: ReviewService;
  readonly display: EditorReview;
}

export function loadReview(context: ReviewContext, editorWindow: EditorWindow, shouldOpenDiffs: () => boolean): LoadedReview {
  const display = new EditorReview(editorWindow, shouldOpenDiffs);
  const service = new ReviewService(context, display);
  display.connect(service, () => context.shownSessionId());
  return { service, display };
}
