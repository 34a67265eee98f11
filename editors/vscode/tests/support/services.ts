/** Host services that most tests do not use, with fixed answers. */
import { ReviewService } from "../../src/host/reviewService.js";
import { FakeReviewDisplay } from "./fakes.js";
import type { HostServices } from "../../src/host/hostServices.js";

export const UNUSED_SERVICES: Pick<HostServices, "storeKey" | "locateUv" | "readScript" | "loadReviews" | "mentionSources" | "symbols" | "mcpServers" | "chooseAgent"> = {
  storeKey: () => Promise.resolve(),
  locateUv: () => Promise.resolve("/bin/uv"),
  readScript: (name) => Promise.resolve(`script of ${name}`),
  loadReviews: (context) => Promise.resolve(new ReviewService(context, new FakeReviewDisplay())),
  mcpServers: () => Promise.resolve([]),
  chooseAgent: () => Promise.resolve(undefined),
  symbols: (params) => Promise.resolve({ symbols: [params] }),
  mentionSources: { allProblems: () => [], terminalOutput: () => "" },
};
