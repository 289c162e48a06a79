import { z } from "zod";
import { type Route, route } from "../route.ts";
import { type ApiDocument, buildOpenApi } from "./openapi.ts";

/** Each document at its path. Building one takes a while, so it waits for the first reader. */
export function documentRoutes(documents: ApiDocument[]): Route[] {
  return documents.map((document) => {
    let text: string | undefined;
    return route(
      {
        method: "get",
        path: document.path,
        operationId: `openapi ${document.path}`,
        summary: "This interface as an OpenAPI 3.1 document",
        tag: "system",
        access: { kind: "open" },
        responses: { 200: { description: "OpenAPI 3.1", schema: z.looseObject({ openapi: z.string() }) } },
        hidden: true,
      },
      () => {
        text ??= JSON.stringify(buildOpenApi(document));
        return new Response(text, {
          headers: { "content-type": "application/json", "cache-control": "no-cache" },
        });
      },
    );
  });
}
