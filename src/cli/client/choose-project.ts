import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import { suggestion } from "../terminal/near-names.ts";
import { project } from "./answers.ts";
import type { ApiClient } from "./api-client.ts";

/** A tracing project, by name or id. */
export async function chooseProject(api: ApiClient, given: string): Promise<z.output<typeof project>> {
  if (isUuid(given)) return api.call(project, "GET", `/api/v1/sessions/${given}`);
  const [found] = await api.call(z.array(project), "GET", "/api/v1/sessions", {
    query: { name: given, limit: 1 },
  });
  if (found) return found;
  const all = await api.call(z.array(project), "GET", "/api/v1/sessions", { query: { limit: 100 } });
  const names = all.map(({ name }) => name);
  throw new AppError({
    code: "client.not_found",
    kind: "not_found",
    message: `There is no project ${given}.${suggestion(given, names)} There are: ${names.slice(0, 10).join(", ") || "none"}.`,
  });
}
