import type { CorsRules } from "../../platform/http/access/cors.ts";
import type { ProjectFile } from "../graphs/project-config.ts";

/** `http.cors` of the project file. */
export function readCorsRules(file: Pick<ProjectFile, "http">): Omit<CorsRules, "allowLoopback"> {
  const cors = file.http?.cors;
  return {
    origins: cors?.allow_origins ?? [],
    ...(cors?.allow_origin_regex ? { originPattern: new RegExp(`^(?:${cors.allow_origin_regex})$`) } : {}),
    headers: cors?.allow_headers ?? [],
    methods: cors?.allow_methods ?? [],
    exposed: cors?.expose_headers ?? [],
    credentials: cors?.allow_credentials ?? false,
    ...(cors?.max_age === undefined ? {} : { maxAgeSeconds: cors.max_age }),
  };
}
