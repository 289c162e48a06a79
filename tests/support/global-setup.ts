import type { TestProject } from "vitest/node";
import { startTestPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    templateDatabase: string;
  }
}

/** One Postgres and one migrated template database for the whole suite; each test file clones it. */
export default async function setup(project: TestProject) {
  const postgres = await startTestPostgres();
  project.provide("postgresUrl", postgres.url);
  project.provide("templateDatabase", postgres.templateDatabase);
  return () => postgres.stop();
}
