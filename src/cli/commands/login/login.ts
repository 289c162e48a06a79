import { currentEnvironment } from "../../../config/index.ts";
import { AppError } from "../../../platform/errors.ts";
import { workspace } from "../../client/answers.ts";
import { createApiClient } from "../../client/api-client.ts";
import { type Connection, defaultUrl, normalUrl, resolveConnection } from "../../client/connection.ts";
import { findLocalServer } from "../../client/local-server.ts";
import { profilePath, readProfiles, writeProfiles } from "../../client/profile-file.ts";
import { openSession } from "../../client/session.ts";
import { type GlobalOptions, readVersion } from "../../program.ts";
import { createOutput } from "../../terminal/output.ts";
import { ask, askSecret, canAsk, readInput } from "../../terminal/prompt.ts";
import { printFields } from "../../terminal/table.ts";

export async function logIn(options: GlobalOptions): Promise<void> {
  const output = createOutput(options);
  const environment = currentEnvironment();
  const path = profilePath(environment);
  const profiles = await readProfiles(path);
  const name = options.profile ?? profiles.current ?? "default";
  const local = await findLocalServer({ dataDir: options.dataDir, cwd: process.cwd() });
  const suggested = profiles.profiles[name]?.url ?? environment.TREADLE_URL ?? local?.urls[0] ?? defaultUrl;
  const given =
    options.url ??
    (canAsk() ? (await ask(`Address of the server [${suggested}]: `)) || suggested : suggested);
  const url = normalUrl(given, "--url");
  // The key of a server started here is known already; another profile's is not meant.
  const known = resolveConnection({
    flags: { url, apiKey: options.apiKey },
    environment,
    profiles: { current: null, profiles: {} },
    local,
  });
  const apiKey = known.apiKey ?? (await readKey(`API key for ${url}: `));
  const connection: Connection = {
    ...known,
    apiKey,
    keyFrom: "what was entered",
    workspaceId: options.workspace ?? known.workspaceId,
  };
  const api = createApiClient(connection, { version: readVersion() });
  const workspaces = await api.list(workspace, "/v2/workspaces");
  const chosen = workspaces.find(({ id }) => id === connection.workspaceId) ?? workspaces[0];
  if (chosen === undefined)
    throw new AppError({
      code: "client.forbidden",
      kind: "forbidden",
      message: `The key opens no workspace at ${url}.`,
    });
  const kept = { url, api_key: apiKey, workspace_id: chosen.id };
  await writeProfiles(path, { current: name, profiles: { ...profiles.profiles, [name]: kept } });
  output.data({
    profile: name,
    url,
    workspace_id: chosen.id,
    workspace: chosen.name,
    role: chosen.role,
    file: path,
  });
  output.line(`${output.paint("green", "✓")} ${url}, workspace ${chosen.name} as ${chosen.role}.`);
  output.line(`Kept as profile ${name} in ${path}; the commands use it from now on.`);
  if (workspaces.length > 1) {
    output.line(
      `The key opens ${workspaces.length} workspaces; choose another with --workspace: ${workspaces.map((each) => `${each.name} ${each.id}`).join(", ")}.`,
    );
  }
}

/** From a pipe, or from the person without showing it. */
export async function readKey(question: string): Promise<string> {
  const key = canAsk() ? await askSecret(question) : (await readInput()).trim();
  if (key !== "") return key;
  throw new AppError({
    code: "client.key_missing",
    kind: "invalid",
    message: "No API key was given. Set TREADLE_API_KEY, or send the key by a pipe.",
  });
}

export async function showIdentity(options: GlobalOptions): Promise<void> {
  const { api, connection, output } = await openSession(options);
  const workspaces = await api.list(workspace, "/v2/workspaces");
  const version = await api.serverVersion();
  const current = workspaces.find(({ id }) => id === connection.workspaceId) ?? workspaces[0];
  const own = readVersion();
  output.data({
    url: connection.url,
    url_from: connection.urlFrom,
    api_key_from: connection.keyFrom,
    profile: connection.profile,
    workspace: current ?? null,
    server_version: version,
    version: own,
  });
  printFields(output, [
    ["Server", { text: connection.url, style: "cyan" }],
    ["", `from ${connection.urlFrom}`],
    ["API key", connection.keyFrom && `from ${connection.keyFrom}`],
    ["Workspace", current && `${current.name} (${current.id})`],
    ["Role", current?.role],
    ["Version", version === own ? own : `server ${version ?? "unknown"}, this command ${own}`],
  ]);
  if (version !== null && version !== own) {
    output.note(`The server is version ${version} and this command ${own}: use the same version of both.`);
  }
}
