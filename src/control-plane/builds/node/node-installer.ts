import { dirname } from "node:path";
import type { BuildPlace } from "../build-request.ts";
import type { Installer, InstallSite } from "../installer.ts";
import type { ManagerTools } from "./manager-tools.ts";
import { readPackageFolders } from "./package-folders.ts";
import { managers, planInstall } from "./package-manager.ts";

/** Projects with a package.json: npm, pnpm, yarn or bun, as their lock file asks. */
export class NodeInstaller implements Installer {
  readonly #tools: ManagerTools;

  constructor(tools: ManagerTools) {
    this.#tools = tools;
  }

  async install({ tree, configPath, place, ...site }: InstallSite): Promise<boolean> {
    const plan = planInstall(await readPackageFolders(tree, dirname(configPath)));
    if (!plan) return false;
    const { command, args, version, because, folder } = plan;
    await site.note(`Installing: ${[command, ...args].join(" ")} (${because})`);
    site.addToPath(await this.#tools.provide(command, version, place()));
    await site.run(command, args, folder);
    return true;
  }

  async provide(program: string, place: BuildPlace): Promise<string[] | null> {
    const manager = managers.find((known) => known === program);
    return manager === undefined ? null : this.#tools.provide(manager, null, place);
  }
}
