import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BuildPlace } from "../build-request.ts";
import type { Installer, InstallSite } from "../installer.ts";
import { isInside } from "../source-tree.ts";
import { type KnownInstall, knownInstall } from "./install-key.ts";
import type { InstalledTrees } from "./installed-trees.ts";
import type { ManagerTools } from "./manager-tools.ts";
import { readPackageFolders } from "./package-folders.ts";
import { managers, planInstall } from "./package-manager.ts";

export type NodeInstallerOptions = {
  managers: ManagerTools;
  /** Null: nothing is kept for later builds. */
  installed: InstalledTrees | null;
  environment: Record<string, string>;
};

/** Projects with a package.json: npm, pnpm, yarn or bun, as their lock file asks. */
export class NodeInstaller implements Installer {
  readonly #managers: ManagerTools;
  readonly #installed: InstalledTrees | null;
  readonly #environment: Record<string, string>;

  constructor({ managers, installed, environment }: NodeInstallerOptions) {
    this.#managers = managers;
    this.#installed = installed;
    this.#environment = environment;
  }

  async install({ tree, configPath, place, workspaceId, user, ...site }: InstallSite): Promise<boolean> {
    const folders = await readPackageFolders(tree, dirname(configPath));
    const plan = planInstall(folders);
    if (!plan) return false;
    const { command, args, version, because, folder } = plan;
    // What a program of the project's own makes follows from more than its lock file.
    const installed = site.hasOwnPrograms ? null : this.#installed;
    const facts = { workspaceId, tree, plan, folders, environment: this.#environment };
    // Before npm runs: what is read here is what was fetched. What cannot be read is npm's to complain about.
    const known: KnownInstall | null = installed && (await knownInstall(facts).catch(() => null));
    const home = join(tree, folder);
    const modules = join(home, "node_modules");
    const [root, before] = await Promise.all([realpath(tree), realpath(home)]);
    if (known && isInside(root, before) && (await installed?.take(known.key, modules, user, place()))) {
      await site.note(`Reusing the packages that an earlier build installed (${because} is the same)`);
      return true;
    }
    await site.note(`Installing: ${[command, ...args].join(" ")} (${because})`);
    site.addToPath(await this.#managers.provide(command, version, place()));
    await site.run(command, args, folder);
    // Before any other code of the project runs. A script may have put a link in place of a folder on the way.
    if (known && isInside(root, before) && (await realpath(home).catch(() => null)) === before)
      await installed?.keep(known, modules, place());
    return true;
  }

  async provide(program: string, place: BuildPlace): Promise<string[] | null> {
    const manager = managers.find((known) => known === program);
    return manager === undefined ? null : this.#managers.provide(manager, null, place);
  }
}
