import type { Started } from "../../../app/platform.ts";
import {
  type Config,
  environmentWith,
  readConfig,
  requireKubernetesSettings,
  requireListenerSettings,
} from "../../../config/index.ts";
import type { PlatformConnection } from "../../../control-plane/mirror/platform-client.ts";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import { readVersion } from "../../program.ts";
import { runPlatform } from "../../server/run-platform.ts";
import { createOutput, type Output } from "../../terminal/output.ts";
import { makeListenerFile, readListenerFile } from "./listener-file.ts";
import type { ListenerOptions } from "./options.ts";

/** Everything but the API, the console and exports: those are the platform's. */
const roles = "gateway,worker,controller,builder";
const askMs = 20_000;

/** Runs until it is asked to stop; the result is the exit code. */
export async function runListener(options: ListenerOptions): Promise<number> {
  const output = createOutput(options);
  const config = readConfig(
    environmentWith({
      TREADLE_PLATFORM_URL: options.platform,
      TREADLE_LISTENER_ID: options.listener,
      TREADLE_RUNTIME: options.runtime,
      TREADLE_PORT: options.port,
      TREADLE_HOST: options.host,
      TREADLE_DATA_DIR: options.dataDir,
      TREADLE_ROLES: roles,
      TREADLE_LOG_LEVEL: options.verbose ? "debug" : undefined,
    }),
  );
  const connection = requireListenerSettings(config.listener);
  // Of what looks after pods, this one process does everything.
  requireKubernetesSettings({ ...config, roles: "all" });
  return runPlatform({
    ...{ config, output },
    listener: async (given) => {
      const { workspace_id: workspaceId, holder } = await identityIn(given, connection);
      const takeOver = options.takeOver ?? false;
      const place = { connection, workspaceId, holder, version: readVersion(), takeOver };
      return { config: { ...given, workspaceId }, place };
    },
    banner: async (started) => bannerOf(started, connection, output),
  });
}

/** The first start asks the platform whose listener it is; later ones remember. */
async function identityIn({ dataDir }: Config, connection: PlatformConnection) {
  const { listenerId } = connection;
  const known = await readListenerFile(dataDir);
  if (known === null)
    return makeListenerFile(dataDir, {
      listener_id: listenerId,
      workspace_id: await askWorkspace(connection),
    });
  if (known.listener_id === listenerId) return known;
  throw new AppError({
    code: "config.invalid",
    kind: "invalid",
    message: `The data folder ${dataDir} belongs to the listener ${known.listener_id}, not to ${listenerId}. Use another --data-dir, or the listener it belongs to.`,
  });
}

async function askWorkspace({ url, apiKey, listenerId }: PlatformConnection): Promise<string> {
  const refused = (why: string) =>
    new AppError({
      code: "config.invalid",
      kind: "invalid",
      message: `The platform at ${url} does not say whose listener ${listenerId} is: ${why}. Check TREADLE_PLATFORM_URL, TREADLE_PLATFORM_KEY and the listener's id.`,
    });
  let response: Response;
  try {
    response = await fetch(`${url}/v2/listeners/${listenerId}`, {
      headers: { "x-api-key": apiKey },
      redirect: "error",
      signal: AbortSignal.timeout(askMs),
    });
  } catch (error) {
    throw refused(errorMessage((error as Error).cause ?? error));
  }
  const body = (await response.json().catch(() => ({}))) as { tenant_id?: string; detail?: unknown };
  if (response.ok && typeof body.tenant_id === "string") return body.tenant_id;
  throw refused(typeof body.detail === "string" ? body.detail : `it answered ${response.status}`);
}

function bannerOf(started: Started, connection: PlatformConnection, { paint }: Output): string[] {
  const rows: [string, string][] = [
    ["Platform", paint("cyan", connection.url)],
    ["Listener", connection.listenerId],
    ["Workspace", started.workspaceId],
    ["Deployments", paint("cyan", `${started.url}/d/…`)],
    ["Data folder", started.dataDir],
    ["Database", started.database === "embedded" ? "embedded PostgreSQL" : "external (DATABASE_URL)"],
  ];
  return [
    `${paint(["bold", "green"], "Treadle")} ${readVersion()} listens for deployments`,
    "",
    ...rows.map(([label, value]) => `  ${paint("dim", label.padEnd(14))}${value}`),
    ...started.notes.map((note) => `  ${paint("yellow", "note")}  ${note}`),
    "",
    `  ${paint("dim", "Ctrl-C stops it.")}`,
  ];
}
