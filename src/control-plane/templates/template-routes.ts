import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { projectNameOf, templateFacts, templateNames } from "./project-template.ts";
import { readTemplate } from "./template-files.ts";

const template = z
  .object({
    name: z.enum(templateNames),
    title: z.string(),
    description: z.string(),
    files: z.array(z.object({ path: z.string(), text: z.string() })),
  })
  .meta({ id: "ProjectTemplate" });

/** What `treadle new` creates, for people without the command line: it is uploaded like any other folder. */
export function templateRoutes(): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/templates",
        operationId: "list_project_templates",
        summary: "List the starter projects with their files",
        description:
          "Deploy one like any other folder: pack its files, upload them, and send the archive as `source_tarball_path`.",
        tag: "Deployments (v2)",
        access: { kind: "workspace", role: "viewer", scope: ["read", "deploy"] },
        query: z.object({
          project_name: z
            .string()
            .max(128)
            .default("agent")
            .describe("The name in its files; letters other than a-z, digits and hyphens are replaced."),
        }),
        responses: { 200: { description: "The templates", schema: z.array(template) } },
      },
      async ({ query }) => {
        const projectName = projectNameOf(query.project_name);
        const found = templateNames.map(async (name) => ({
          ...{ name, ...templateFacts[name] },
          files: await readTemplate(name, projectName),
        }));
        return json(200, await Promise.all(found));
      },
    ),
  ];
}
