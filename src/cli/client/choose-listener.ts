import { AppError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import { suggestion } from "../terminal/near-names.ts";
import { type Listener, listener } from "./answers.ts";
import type { ApiClient } from "./api-client.ts";

export const listenersPath = "/v2/listeners";
export const listenerPath = (id: string) => `${listenersPath}/${id}`;

/** By name, which no two of a workspace share, or id. */
export async function chooseListener(api: ApiClient, given: string): Promise<Listener> {
  if (isUuid(given)) return api.call(listener, "GET", listenerPath(given));
  const all = await api.list(listener, listenersPath);
  const found = all.find(({ compute_id }) => compute_id === given);
  if (found) return found;
  const names = all.map(({ compute_id }) => compute_id);
  throw new AppError({
    code: "client.not_found",
    kind: "not_found",
    message: `There is no listener ${given}.${suggestion(given, names)} There are: ${names.slice(0, 10).join(", ") || "none; see `treadle listeners create --help`"}.`,
  });
}
