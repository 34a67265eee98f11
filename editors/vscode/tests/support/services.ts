/** Host services that most tests do not use, with fixed answers. */
import type { HostServices } from "../../src/host/hostServices.js";

export const UNUSED_SERVICES: Pick<HostServices, "storeKey" | "locateUv" | "readScript" | "mentionSources"> = {
  storeKey: () => Promise.resolve(),
  locateUv: () => Promise.resolve("/bin/uv"),
  readScript: (name) => Promise.resolve(`script of ${name}`),
  mentionSources: { allProblems: () => [], terminalOutput: () => "" },
};
