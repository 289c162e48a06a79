import { AppError } from "../../errors.ts";
import type { RouteSpec } from "../route.ts";
import { toValidationIssues } from "../validation/validation.ts";

/** Throws when an answer is not what the route publishes. Reads a copy; only JSON is read at all. */
export async function checkResponse(spec: RouteSpec, response: Response): Promise<void> {
  const name = `${spec.method.toUpperCase()} ${spec.path}`;
  const published = spec.responses[response.status];
  if (!published) {
    throw mismatch(`${name} answered ${response.status}, which it does not document`, {
      documented: Object.keys(spec.responses),
    });
  }
  if (!published.schema) return;
  const contentType = response.headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.-]+\+)?json/.test(contentType)) {
    throw mismatch(
      `${name} answered ${response.status} with ${contentType || "no content type"} instead of JSON`,
      {},
    );
  }
  const result = published.schema.safeParse(await response.clone().json());
  if (result.success) return;
  throw mismatch(`${name} answered ${response.status} with a body that is not what it publishes`, {
    issues: toValidationIssues(result.error.issues, ["response"]).map(
      ({ loc, msg }) => `${loc.join(".")}: ${msg}`,
    ),
  });
}

/** The details go to the caller: this check runs in tests and on a developer's machine only. */
function mismatch(what: string, detail: Record<string, unknown>): AppError {
  return new AppError({
    code: "response.not_as_published",
    kind: "internal",
    message: `${what}: ${JSON.stringify(detail)}`,
    detail,
  });
}
