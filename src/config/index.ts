import { z } from "zod";
import { accountConfigOf, accountSettings } from "./accounts.ts";
import { type AgentConfig, parseAgentConfig } from "./agent.ts";
import { blobConfigOf, blobSettings } from "./blobs.ts";
import { deploymentConfigOf, deploymentSettings, pickChildEnvironments } from "./deployments.ts";
import { describeValues } from "./describe-settings.ts";
import { exportConfigOf, exportSettings } from "./exports.ts";
import { listenerConfigOf, listenerSettings } from "./listener.ts";
import { isLoopbackHost, publicUrlIsLoopback } from "./loopback.ts";
import { mailConfigOf, mailSettings } from "./mail.ts";
import { parseSettings, secretSettings } from "./parse-settings.ts";
import { missingSettings, roleSettings, rolesOf } from "./roles.ts";
import { ownRunSettings, runConfigOf } from "./runs.ts";
import { serverConfigOf, serverSettings } from "./server.ts";
import { signInConfigOf, signInSettings } from "./sign-in.ts";
import { testingConfigOf, testingSettings } from "./testing.ts";
import { traceConfigOf, traceSettings } from "./traces.ts";
import { pickStartEnvironment, workerSettings, workersOf } from "./workers.ts";

export { type AgentConfig, agentSettingsSchema, readDefaultConfigs } from "./agent.ts";
export type { BlobConfig } from "./blobs.ts";
export type { DeploymentConfig } from "./deployments.ts";
export { describeSettings } from "./describe-settings.ts";
export { buildsBesideCluster, requireKubernetesSettings, usesCluster } from "./kubernetes.ts";
export { requireListenerSettings } from "./listener.ts";
export { isLoopbackHost } from "./loopback.ts";
export { type Role, type Roles, requireSharedSettings, roleNames, roleNotes } from "./roles.ts";
export { countWorkers, readMachine, requireUsableWorkers, workerRoles } from "./workers.ts";

/**
 * Every setting of `treadle up`, a file for each area. This file alone reads `process.env`; `npm run generate` turns
 * the descriptions into docs/configuration.md.
 */
export const settingsSchema = z.object({
  ...serverSettings,
  ...roleSettings,
  ...workerSettings,
  ...ownRunSettings,
  ...accountSettings,
  ...signInSettings,
  ...exportSettings,
  ...mailSettings,
  ...deploymentSettings,
  ...listenerSettings,
  ...blobSettings,
  ...traceSettings,
  ...testingSettings,
});

export const settingNames = Object.keys(settingsSchema.shape) as (keyof typeof settingsSchema.shape)[];

export type Config = ReturnType<typeof readConfig>;

/** Reads and checks the environment; a bad value names the variable and what it must be. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parseSettings(settingsSchema, environment);
  const loopback =
    isLoopbackHost(env.TREADLE_HOST) &&
    publicUrlIsLoopback(env.TREADLE_PUBLIC_URL) &&
    publicUrlIsLoopback(env.TREADLE_DEPLOYMENTS_URL?.replace("{slug}", "x"));
  const server = serverConfigOf(env, { loopback });
  const roles = rolesOf(env.TREADLE_ROLES);
  return {
    ...server,
    roles,
    /** What processes with these roles must have in common and is not set, in words. */
    missingForRoles: missingSettings(roles, (name) => Boolean(environment[name])),
    exampleChat: env.TREADLE_EXAMPLE_CHAT,
    workers: workersOf(env.TREADLE_WORKERS),
    ...runConfigOf({
      settings: env,
      concurrency: env.TREADLE_RUN_CONCURRENCY,
      timeoutSeconds: env.TREADLE_RUN_TIMEOUT_SECONDS,
      protocolEvents: env.TREADLE_PROTOCOL_EVENTS,
    }),
    ...accountConfigOf(env),
    ...traceConfigOf(env),
    ...testingConfigOf(env),
    signIn: signInConfigOf(env),
    mail: mailConfigOf(env),
    exports: exportConfigOf(env, env.TREADLE_EDITION),
    blobs: blobConfigOf(env, server),
    listener: listenerConfigOf(env),
    deployments: deploymentConfigOf(env, { loopback, edition: env.TREADLE_EDITION }),
  };
}

/** The environment with some settings replaced, for command line options, which come first. */
export function environmentWith(
  overrides: Partial<Record<(typeof settingNames)[number], string>>,
): NodeJS.ProcessEnv {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  return { ...process.env, ...Object.fromEntries(given) };
}

/** Takes the platform's own secrets out of the environment once they were read: nothing it starts inherits them. */
export function forgetSecrets(environment: NodeJS.ProcessEnv = process.env): void {
  for (const name of [...secretSettings, "DATABASE_URL"]) delete environment[name];
}

/** One setting as it was written, unchecked: for what must work even when another setting is wrong. */
export function readSetting(name: (typeof settingNames)[number]): string | undefined {
  return process.env[name];
}

/** For `treadle config`: every setting, its value, whether it was set, with secrets masked. */
export function describeConfig(environment: NodeJS.ProcessEnv = process.env) {
  return describeValues(settingsSchema, environment);
}

/** Keys of model providers, for the built-in agent; nothing else of the environment reaches it. */
export function providerKeys(
  environment: NodeJS.ProcessEnv = process.env,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => /^[A-Z0-9_]+_API_KEY$/.test(name)),
  );
}

/** Settings of `treadle agent`; options of the command line come first. */
export function readAgentConfig(
  configPath: string | undefined,
  overrides: Record<string, string | undefined> = {},
  environment: NodeJS.ProcessEnv = process.env,
): AgentConfig {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  const config = parseAgentConfig(configPath, { ...environment, ...Object.fromEntries(given) });
  // Neither the project's code nor what it starts has a use for it.
  delete environment.TREADLE_INSTANCE_SECRET;
  return config;
}

/** The environment as it is, for a project's own code and file. */
export function currentEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** Sets variables where a project's code looks for them; what is set already stays. */
export function applyEnvironment(values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) process.env[name] ??= value;
}

/** What builds and deployed servers may see of this process's environment. */
export function childEnvironments(environment: NodeJS.ProcessEnv = process.env) {
  return pickChildEnvironments(environment);
}

/** What a worker process of this one begins with. */
export function startEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return pickStartEnvironment(environment);
}
