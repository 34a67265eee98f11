/** Names of methods that the protocol's SDK does not know: drafts, and those of our own server. */
export const STEERING_METHOD = "_session/steering";
export const RESTORE_METHOD = "_hermes/restore";
export const SYMBOLS_METHOD = "_hermes/symbols";
export const FORK_METHOD = "session/fork";
export const ACTIVE_FILE_METHOD = "_hermes/active_file";
export const DIAGNOSTICS_METHOD = "_hermes/diagnostics";
