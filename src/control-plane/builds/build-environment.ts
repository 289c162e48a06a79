import { delimiter, join } from "node:path";

/** The environment of one of a project's install and build commands; caches are kept from one build to the next. */
export function stepEnvironment(
  machine: Record<string, string>,
  place: { home: string; scratch: string; cache: string; bins: readonly string[] },
  command: string,
): Record<string, string> {
  const { home, scratch, cache, bins } = place;
  const registry = machine.npm_config_registry ?? machine.NPM_CONFIG_REGISTRY;
  return {
    ...machine,
    PATH: [...bins, machine.PATH ?? "/usr/bin:/bin"].join(delimiter),
    HOME: home,
    TMPDIR: scratch,
    CI: "1",
    npm_config_cache: join(cache, "npm"),
    npm_config_update_notifier: "false",
    npm_config_audit: "false",
    npm_config_fund: "false",
    // npm warns of settings it does not know.
    ...(command === "npm" ? {} : pnpmSettings(cache)),
    COREPACK_ENABLE_STRICT: "0",
    YARN_CACHE_FOLDER: join(cache, "yarn"),
    YARN_GLOBAL_FOLDER: join(cache, "yarn-modern"),
    YARN_ENABLE_GLOBAL_CACHE: "true",
    YARN_ENABLE_TELEMETRY: "0",
    // Graphs are loaded by Node, which looks for packages in folders.
    YARN_NODE_LINKER: "node-modules",
    BUN_INSTALL_CACHE_DIR: join(cache, "bun"),
    ...(registry ? { YARN_REGISTRY: registry, YARN_NPM_REGISTRY_SERVER: registry } : {}),
  };
}

function pnpmSettings(cache: string): Record<string, string> {
  return {
    // A link into the cache would change with the cache, and have the cache's owner.
    npm_config_store_dir: join(cache, "pnpm"),
    npm_config_package_import_method: "copy",
    // The version a project asks for has been provided.
    npm_config_manage_package_manager_versions: "false",
  };
}
