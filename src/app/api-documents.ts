import type { Area } from "../platform/areas/area.ts";
import type { ApiDocument } from "../platform/http/openapi/openapi.ts";
import type { Route } from "../platform/http/route.ts";
import { version } from "../platform/package-facts.ts";

export type DocumentedAreas = Record<
  "control" | "agent" | "traces" | "chat",
  readonly Pick<Area, "routes">[]
>;

/** One document of everything, and one for each API that can be used alone. */
export function apiDocuments(system: readonly Route[], areas: DocumentedAreas): ApiDocument[] {
  const routesOf = (name: keyof DocumentedAreas) => areas[name].flatMap(({ routes }) => routes);
  return [
    {
      path: "/openapi.json",
      title: "Treadle",
      version: version(),
      description: "The whole platform: control plane, agent server, traces and exports on one host.",
      routes: [
        ...system,
        ...routesOf("agent"),
        ...routesOf("control"),
        ...routesOf("traces"),
        ...routesOf("chat"),
      ],
    },
    {
      path: "/v2/openapi.json",
      title: "Treadle control plane",
      version: version(),
      description: "Workspaces, keys, deployments and the auth service.",
      routes: routesOf("control"),
    },
    {
      path: "/api/v1/openapi.json",
      title: "Treadle traces and exports",
      version: version(),
      description: "Tracing, feedback, datasets and bulk export.",
      routes: routesOf("traces"),
    },
  ];
}
