import type { Started } from "../../../app/platform.ts";
import {
  type Config,
  environmentWith,
  readConfig,
  requireKubernetesSettings,
  requireSharedSettings,
} from "../../../config/index.ts";
import { readVersion } from "../../program.ts";
import { runPlatform } from "../../server/run-platform.ts";
import { createOutput, type Output } from "../../terminal/output.ts";
import { formatBanner, formatRoleBanner } from "./banner.ts";
import type { UpOptions } from "./options.ts";

/** Runs until it is asked to stop; the result is the exit code. */
export async function runUp(options: UpOptions): Promise<number> {
  const output = createOutput(options);
  const config = readConfig(
    environmentWith({
      TREADLE_PORT: options.port,
      TREADLE_HOST: options.host,
      TREADLE_DATA_DIR: options.dataDir,
      TREADLE_ROLES: options.roles,
      TREADLE_LOG_LEVEL: options.verbose ? "debug" : undefined,
    }),
  );
  requireSharedSettings(config);
  requireKubernetesSettings(config);
  return runPlatform({ config, output, banner: (started) => bannerOf(started, config, output) });
}

async function bannerOf(started: Started, config: Config, output: Output): Promise<string[]> {
  // A link that signs in is for eyes, never for a log that others read.
  const offersLink = output.watched && config.roles === "all" && !config.signIn.oidc?.required;
  const signInLink = offersLink ? await started.signInLink() : undefined;
  const facts = { ...started, signInLink, version: readVersion() };
  return config.roles === "all" ? formatBanner(facts, output.paint) : formatRoleBanner(facts, output.paint);
}
