import type { Database } from "../../src/platform/db/database.ts";

/** The database with some of its methods replaced; the others are its own. */
export function replaceInDatabase(database: Database, replaced: Partial<Database>): Database {
  return new Proxy(database, {
    get(target, name) {
      if (Object.hasOwn(replaced, name)) return Reflect.get(replaced, name);
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}
