import { AppError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import { defaultName } from "../project/project-folder.ts";
import { suggestion } from "../terminal/near-names.ts";
import { type Deployment, deployment, type Revision, revision } from "./answers.ts";
import type { ApiClient } from "./api-client.ts";

/** By name or id; without either the one this folder deploys to, or the only one there is. */
export async function chooseDeployment(api: ApiClient, given: string | undefined): Promise<Deployment> {
  if (given !== undefined && isUuid(given)) {
    return api.call(deployment, "GET", `/v2/deployments/${given}`);
  }
  const name = given ?? (await defaultName(process.cwd()));
  const named = await findDeployment(api, name);
  if (named !== undefined) return named;
  const all = await api.list(deployment, "/v2/deployments");
  const [only] = all;
  if (given === undefined && all.length === 1 && only !== undefined) return only;
  const names = all.map((each) => each.name);
  throw new AppError({
    code: "client.deployment_unknown",
    kind: "not_found",
    message: unknownMessage(given, name, names),
  });
}

export async function findDeployment(api: ApiClient, name: string): Promise<Deployment | undefined> {
  const [found] = await api.list(deployment, "/v2/deployments", { name }, 1);
  return found;
}

function unknownMessage(given: string | undefined, name: string, names: readonly string[]): string {
  if (names.length === 0)
    return "There are no deployments yet. `treadle deploy` creates one from the current folder.";
  const listed = names.slice(0, 10).join(", ") + (names.length > 10 ? ", …" : "");
  return given === undefined
    ? `Name a deployment: there is none called ${name}, the name of this folder. There are: ${listed}.`
    : `There is no deployment ${name}.${suggestion(name, names)} There are: ${listed}.`;
}

/** By number, id or the beginning of an id. */
export async function chooseRevision(api: ApiClient, of: Deployment, given: string): Promise<Revision> {
  const all = await listRevisions(api, of);
  const found = all.find(
    (each) =>
      String(each.number) === given.replace(/^#/, "") ||
      each.id === given ||
      (given.length >= 8 && each.id.startsWith(given)),
  );
  if (found) return found;
  throw new AppError({
    code: "client.revision_unknown",
    kind: "not_found",
    message: `${of.name} has no revision ${given}. It has ${all.map((each) => each.number).join(", ") || "none"}; \`treadle revisions ${of.name}\` shows them.`,
  });
}

export function listRevisions(api: ApiClient, of: Deployment, most = 1_000): Promise<Revision[]> {
  return api.list(revision, `/v2/deployments/${of.id}/revisions`, {}, most);
}
