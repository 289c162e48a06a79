import type { ErrorCode } from "../platform/errors.ts";

/** What the exit code of every command means. The help and the documents print this table. */
export const exitCodes = {
  ok: { code: 0, meaning: "done; also a clean stop after SIGINT or SIGTERM" },
  failure: { code: 1, meaning: "something failed; the message says what" },
  usage: { code: 2, meaning: "the command line is wrong" },
  configInvalid: { code: 3, meaning: "a setting has an invalid value" },
  portTaken: { code: 4, meaning: "the port is taken or may not be used" },
  dataFolderLocked: { code: 5, meaning: "another Treadle runs on this data folder" },
  dataFolderUnusable: { code: 6, meaning: "the data folder cannot be written" },
  databaseUnreachable: { code: 7, meaning: "the database does not respond, or did not start" },
  schemaMismatch: { code: 8, meaning: "the database belongs to another version of Treadle" },
  wrongEncryptionKey: { code: 9, meaning: "the encryption key does not open the stored secrets" },
  projectUnusable: { code: 10, meaning: "the project file, its auth or its HTTP application cannot be used" },
  blocked: { code: 11, meaning: "a graph blocked the process, and the watchdog ended it" },
  serverUnreachable: { code: 12, meaning: "no Treadle server responds at the address" },
  notPermitted: { code: 13, meaning: "the server refuses the API key, or does not allow it to do this" },
  notFound: { code: 14, meaning: "the server has nothing with that name or id" },
  unsuccessful: { code: 15, meaning: "a deployment, export, run, connection or test did not succeed" },
  timedOut: { code: 16, meaning: "the timeout ended the wait; the operation continues" },
} as const;

export type ExitName = keyof typeof exitCodes;

const byErrorCode: Partial<Record<ErrorCode, ExitName>> = {
  "config.invalid": "configInvalid",
  "server.port_taken": "portTaken",
  "server.port_not_permitted": "portTaken",
  "data_folder.locked": "dataFolderLocked",
  "data_folder.unusable": "dataFolderUnusable",
  "data_folder.full": "dataFolderUnusable",
  "database.unavailable": "databaseUnreachable",
  "database.refused": "databaseUnreachable",
  "database.start_failed": "databaseUnreachable",
  "database.too_old": "databaseUnreachable",
  "migration.newer": "schemaMismatch",
  "migration.changed": "schemaMismatch",
  "secret.wrong_key": "wrongEncryptionKey",
  "secret.key_file": "wrongEncryptionKey",
  "graph.config_missing": "projectUnusable",
  "graph.config_invalid": "projectUnusable",
  "graph.tsconfig_unusable": "projectUnusable",
  "graph.part_unusable": "projectUnusable",
  "graph.python_missing": "projectUnusable",
  "client.unreachable": "serverUnreachable",
  "client.not_treadle": "serverUnreachable",
  "client.unauthorized": "notPermitted",
  "client.forbidden": "notPermitted",
  "client.not_found": "notFound",
  "client.deployment_unknown": "notFound",
  "client.revision_unknown": "notFound",
  "client.export_unknown": "notFound",
  "client.connection_unknown": "notFound",
  "client.profile_unknown": "notFound",
  "client.not_delivered": "unsuccessful",
  "client.not_deployed": "unsuccessful",
  "client.not_exported": "unsuccessful",
  "client.not_connected": "unsuccessful",
  "client.run_failed": "unsuccessful",
  "client.timeout": "timedOut",
  "client.address_invalid": "configInvalid",
  "client.profiles_unreadable": "configInvalid",
};
/** As a shell counts an end by SIGINT. */
const interrupted = 130;

export function exitCodeFor(errorCode: ErrorCode): number {
  if (errorCode === "client.interrupted") return interrupted;
  return exitCodes[byErrorCode[errorCode] ?? "failure"].code;
}

export function exitCodeTable(): string {
  return Object.values(exitCodes)
    .map(({ code, meaning }) => `  ${String(code).padEnd(2)}  ${meaning}`)
    .join("\n");
}
