import type { ApiDocument } from "./openapi.ts";
import type { Route } from "./route.ts";

export function docsRoutes(_documents: ApiDocument[]): Route[] {
  return [];
}
