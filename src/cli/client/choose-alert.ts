import { AppError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import { suggestion } from "../terminal/near-names.ts";
import { type Alert, alert, resourcesOf } from "./answers.ts";
import type { ApiClient, CallOptions } from "./api-client.ts";

const path = "/v2/alerts";

/** A workspace has 100 at most. */
export async function listAlerts(api: ApiClient, options: CallOptions = {}): Promise<Alert[]> {
  return (await api.call(resourcesOf(alert), "GET", path, options)).resources;
}

/** By name or id. Names need not differ; then the id decides. */
export async function chooseAlert(api: ApiClient, given: string): Promise<Alert> {
  if (isUuid(given)) return api.call(alert, "GET", alertPath(given));
  const all = await listAlerts(api);
  const named = all.filter(({ name }) => name === given);
  const [found] = named;
  if (found && named.length === 1) return found;
  const names = all.map(({ name }) => name);
  throw new AppError({
    code: "client.not_found",
    kind: "not_found",
    message: found
      ? `Several alerts are called ${given}. Name one by its id: ${named.map(({ id }) => id).join(", ")}.`
      : `There is no alert ${given}.${suggestion(given, names)} There are: ${names.slice(0, 10).join(", ") || "none; see `treadle alerts create --help`"}.`,
  });
}

export const alertPath = (id: string) => `${path}/${id}`;
