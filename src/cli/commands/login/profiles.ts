import { currentEnvironment } from "../../../config/index.ts";
import { AppError } from "../../../platform/errors.ts";
import { normalUrl, type Profiles } from "../../client/connection.ts";
import { profilePath, readProfiles, writeProfiles } from "../../client/profile-file.ts";
import type { GlobalOptions } from "../../program.ts";
import { suggestion } from "../../terminal/near-names.ts";
import { createOutput } from "../../terminal/output.ts";
import { printTable } from "../../terminal/table.ts";
import { readKey } from "./login.ts";

const pathHere = () => profilePath(currentEnvironment());

export async function listProfiles(options: GlobalOptions): Promise<void> {
  const output = createOutput(options);
  const { current, profiles } = await readProfiles(pathHere());
  const entries = Object.entries(profiles);
  output.data(
    entries.map(([name, { url, workspace_id }]) => ({
      name,
      url,
      workspace_id: workspace_id ?? null,
      current: name === current,
    })),
  );
  if (entries.length === 0) {
    output.line("There are no profiles. `treadle login` makes one.");
    return;
  }
  printTable(
    output,
    [{ head: "" }, { head: "PROFILE" }, { head: "SERVER", flexible: true }, { head: "WORKSPACE" }],
    entries.map(([name, profile]) => [
      name === current ? { text: "●", style: "green" } : "",
      { text: name, style: "bold" },
      profile.url,
      profile.workspace_id ?? "",
    ]),
  );
}

export async function addProfile(name: string, options: GlobalOptions): Promise<void> {
  const output = createOutput(options);
  if (options.url === undefined) {
    throw new AppError({
      code: "client.options_invalid",
      kind: "invalid",
      message: "Give the server's address with --url.",
    });
  }
  const url = normalUrl(options.url, "--url");
  const key =
    options.apiKey ?? currentEnvironment().TREADLE_API_KEY ?? (await readKey(`API key for ${url}: `));
  const before = await readProfiles(pathHere());
  const added = {
    url,
    api_key: key,
    ...(options.workspace === undefined ? {} : { workspace_id: options.workspace }),
  };
  await writeProfiles(pathHere(), {
    current: before.current ?? name,
    profiles: { ...before.profiles, [name]: added },
  });
  output.data({ name, url, current: (before.current ?? name) === name });
  output.line(
    `Profile ${name} is kept. ${before.current === null ? "It is used from now on." : `Use it with \`treadle profile use ${name}\`.`}`,
  );
}

export async function selectProfile(name: string, options: GlobalOptions): Promise<void> {
  const output = createOutput(options);
  const before = await readProfiles(pathHere());
  requireProfile(before, name);
  await writeProfiles(pathHere(), { ...before, current: name });
  output.data({ current: name });
  output.line(`The commands use ${name} (${before.profiles[name]?.url}) from now on.`);
}

export async function removeProfile(name: string, options: GlobalOptions): Promise<void> {
  const output = createOutput(options);
  const before = await readProfiles(pathHere());
  requireProfile(before, name);
  const { [name]: _removed, ...profiles } = before.profiles;
  await writeProfiles(pathHere(), { current: before.current === name ? null : before.current, profiles });
  output.data({ removed: name });
  output.line(`Profile ${name} is forgotten here; its key still works. \`treadle keys revoke\` ends it.`);
}

function requireProfile({ profiles }: Profiles, name: string): void {
  if (profiles[name]) return;
  const names = Object.keys(profiles);
  throw new AppError({
    code: "client.profile_unknown",
    kind: "not_found",
    message: `There is no profile ${name}.${suggestion(name, names)} There are: ${names.join(", ") || "none"}.`,
  });
}
