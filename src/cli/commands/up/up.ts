import type { Started } from "../../../app/platform.ts";
import { WorkerProcesses } from "../../../app/worker-processes.ts";
import {
  type Config,
  countWorkers,
  environmentWith,
  readConfig,
  readMachine,
  requireKubernetesSettings,
  requireSharedSettings,
  requireUsableWorkers,
} from "../../../config/index.ts";
import type { Logger } from "../../../platform/logger.ts";
import { readVersion } from "../../program.ts";
import { runPlatform } from "../../server/run-platform.ts";
import { createOutput, type Output } from "../../terminal/output.ts";
import { formatBanner, formatRoleBanner } from "./banner.ts";
import type { UpOptions } from "./options.ts";

/** Runs until it is asked to stop; the result is the exit code. */
export async function runUp(options: UpOptions): Promise<number> {
  const output = createOutput(options);
  const environment = environmentWith({
    TREADLE_PORT: options.port,
    TREADLE_HOST: options.host,
    TREADLE_DATA_DIR: options.dataDir,
    TREADLE_ROLES: options.roles,
    TREADLE_LOG_LEVEL: options.verbose ? "debug" : undefined,
  });
  const config = readConfig(environment);
  requireUsableWorkers(config);
  requireSharedSettings(config);
  requireKubernetesSettings(config);
  return runPlatform({
    ...{ config, output },
    workers: workersFor(config, environment, options),
    banner: (started) => bannerOf(started, config, output),
  });
}

/** They get the same settings as this process. */
function workersFor(
  config: Config,
  environment: NodeJS.ProcessEnv,
  { json, color }: UpOptions,
): ((logger: Logger) => WorkerProcesses) | undefined {
  const count = countWorkers(config, readMachine());
  if (count === 0) return undefined;
  const set = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const settings = {
    environment: Object.fromEntries(set),
    output: { ...(json === undefined ? {} : { json }), ...(color === undefined ? {} : { color }) },
  };
  const isOwnChoice = config.workers === "auto";
  return (logger) =>
    new WorkerProcesses({ count, isOwnChoice, poolSize: config.databasePool, settings, logger });
}

async function bannerOf(started: Started, config: Config, output: Output): Promise<string[]> {
  // A link that signs in is for eyes, never for a log that others read.
  const offersLink = output.watched && config.roles === "all" && !config.signIn.oidc?.required;
  const signInLink = offersLink ? await started.signInLink() : undefined;
  const facts = { ...started, signInLink, version: readVersion() };
  return config.roles === "all" ? formatBanner(facts, output.paint) : formatRoleBanner(facts, output.paint);
}
