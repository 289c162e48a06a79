import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { type AuthFilter, metadataCondition } from "./auth-filter.ts";

/** The filter as a condition on an item of the store: on its value, and on `namespace` (a list) and `key`. */
export function itemCondition(
  filter: AuthFilter | undefined,
  alias: string,
): RawBuilder<unknown> | undefined {
  const column = (name: string) => raw.ref(`${alias}.${name}`);
  return metadataCondition(filter, (key) => {
    if (key === "namespace")
      return raw`jsonb_build_object('namespace', to_jsonb(string_to_array(${column("namespace")}, '.')))`;
    if (key === "key") return raw`jsonb_build_object('key', ${column("key")})`;
    return column("document");
  });
}
