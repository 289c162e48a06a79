import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { checkDemand } from "../../platform/http/pipeline/authorize.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id, time } from "../wire/wire-fields.ts";
import type { EntryStates } from "./entry-state.ts";
import type { PagePasses } from "./page-doors.ts";
import { entryPath } from "./page-request.ts";

/** Who is served at a name. */
export type FindPages = (
  slug: string,
) => Promise<{ deploymentId: string; workspaceId: string; usesOwnAuth: boolean } | null>;

const demand = { role: "viewer", scope: ["read", "runs"] } as const;

const entry = z.object({
  location: z
    .string()
    .describe("Where the browser is redirected, with the code. Works once, within a minute."),
  deployment_id: id,
  expires_at: time,
});

/** The console's part of entering the pages of a deployment: it knows who is signed in. */
export function pageCodeRoutes(options: {
  passes: PagePasses;
  states: EntryStates;
  find: FindPages;
  /** None where deployments have no origin of their own. */
  originsOf(slug: string): string[];
}): Route[] {
  const { passes, states, find, originsOf } = options;
  return [
    route(
      {
        method: "post",
        path: "/v2/deployment-pages/{slug}/codes",
        operationId: "create_page_code",
        summary: "Let a browser open the pages of a deployment",
        description:
          "For the console's own page: a browser that opens `page_url` without a credential is redirected there, and then to `location` if the person is a member of the deployment's workspace.",
        tag: "Deployments (v2)",
        access: { kind: "workspace", ...demand },
        audit: {
          action: "deployment.page_opened",
          target: { kind: "deployment", id: "answer.deployment_id", name: "params.slug" },
        },
        params: z.object({ slug: z.string().max(128) }),
        body: z.object({
          state: z.string().max(4_000).describe("The value that the deployment's origin gave the browser."),
        }),
        maxBodyBytes: 10_000,
        responses: { 201: { description: "Where to go on", schema: entry } },
        errors: [400],
      },
      async ({ caller, params: { slug }, body: { state }, audit }) => {
        if (caller.sessionId === undefined) throw needsSession();
        const origins = originsOf(slug);
        const pages = origins.length === 0 ? null : await find(slug);
        const person = pages && (await passes.personIn(caller, pages.workspaceId));
        // The same message for one that does not exist and one of another workspace, so that names cannot be probed.
        if (!pages || !person) throw notYours(slug);
        checkDemand(person, demand);
        // It was sealed for the origin that the browser came from.
        const origin = origins.find((known) => states.open(state, known) !== null);
        if (pages.usesOwnAuth || origin === undefined) throw notBegun();
        const { deploymentId } = pages;
        const { code, expiresAt } = await passes.makeCode(person, { deploymentId, origin, state });
        audit.note = { caller: person };
        const query = new URLSearchParams({ code, state });
        const answer: z.input<typeof entry> = {
          location: `${origin}${entryPath}?${query}`,
          deployment_id: deploymentId,
          expires_at: expiresAt.toISOString(),
        };
        return json(201, answer, { "cache-control": "no-store" });
      },
    ),
  ];
}

function needsSession(): AppError {
  return new AppError({
    code: "page.session_needed",
    kind: "forbidden",
    message:
      "This works only for people who are signed in to the console. With a key, call the deployment itself and send X-Api-Key.",
  });
}

function notYours(slug: string): AppError {
  return new AppError({
    code: "page.forbidden",
    kind: "forbidden",
    message: `You may not open the pages of "${slug}": there is no such deployment, or it belongs to a workspace that you are not a member of. Check the address, or ask an admin of that workspace to add you.`,
  });
}

function notBegun(): AppError {
  return new AppError({
    code: "page.entry_expired",
    kind: "invalid",
    message:
      "This attempt to open the page is older than ten minutes, or for another page. Open the page again.",
  });
}
