import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { type Route, route } from "../../platform/http/route.ts";

const tag = "Integrations (v2)";
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const write = { kind: "workspace", role: "editor", scope: "admin" } as const;
const link = z.object({ url: z.string() });
const session = z.object({ id: z.string(), status: z.string() });
const params = z.object({ session_id: z.string().max(200) });

/**
 * Installing an app needs an app that the operator of the service registered at GitHub. This service has none, so these
 * answer with how to get an integration instead.
 */
export function installationRoutes(): Route[] {
  return (["github", "forge-github"] as const).flatMap((host) => {
    const name = host.replace("-", "_");
    return [
      route(
        {
          method: "post",
          path: `/v2/integrations/${host}/installation-link`,
          operationId: `create_${name}_installation_link`,
          summary: "Where to install the platform's app: it has none",
          tag,
          access: write,
          responses: { 200: { description: "Never", schema: link } },
          errors: [400],
        },
        async () => {
          throw new AppError({
            code: "integration.no_app",
            kind: "invalid",
            message:
              "This server has no GitHub App that could be installed. Create an integration with POST /v1/integrations/github: with a token, an SSH key, or the id, key and installation of your own app.",
          });
        },
      ),
      route(
        {
          method: "get",
          path: `/v2/integrations/${host}/picker-sessions/{session_id}`,
          operationId: `get_${name}_picker_session`,
          summary: "A choice of installations: there is none",
          tag,
          access: read,
          params,
          responses: { 200: { description: "Never", schema: session } },
          errors: [404],
        },
        async ({ params }) => {
          throw unknownSession(params.session_id);
        },
      ),
      route(
        {
          method: "post",
          path: `/v2/integrations/${host}/picker-sessions/{session_id}/selection`,
          operationId: `select_${name}_installation`,
          summary: "Choose an installation: there is none",
          tag,
          access: write,
          params,
          responses: { 200: { description: "Never", schema: session } },
          errors: [404],
        },
        async ({ params }) => {
          throw unknownSession(params.session_id);
        },
      ),
    ];
  });
}

/** Sessions begin with an installation link, and this service issues none. */
function unknownSession(id: string): AppError {
  return new AppError({
    code: "integration.unknown_session",
    kind: "not_found",
    message: `Picker session ${id} not found. GET /v2/integrations/github/installations lists the integrations to choose from.`,
  });
}
