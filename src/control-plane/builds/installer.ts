import type { BuildPlace, PlaceOf } from "./build-request.ts";
import type { BuildUser } from "./build-user.ts";

/** What an installer works with. Its commands run behind the walls, as the build's own user. */
export type InstallSite = {
  /** The root of the source. */
  tree: string;
  /** The project file, from there. */
  configPath: string;
  place: PlaceOf;
  workspaceId: string;
  /** Whether programs of the project's own come before the machine's, as those of a Python environment do. */
  hasOwnPrograms: boolean;
  /** Who owns the source meanwhile; undefined: the platform. */
  user: BuildUser | undefined;
  /** For people who follow the build. */
  note(message: string): Promise<void>;
  /** Folders that come before PATH, for every later command of this build. */
  addToPath(folders: readonly string[]): void;
  /** Runs a command in a folder of the source; one that fails ends the build with its last lines. */
  run(command: string, args: string[], folder: string): Promise<void>;
};

/** Installs what one kind of project needs. A build asks each that its `Builder` lists, in that order. */
export type Installer = {
  /** Installs what the source holds of this kind; false where it holds nothing. */
  install(site: InstallSite): Promise<boolean>;
  /**
   * Where a program of this kind is found that a project's own command names: folders to put before PATH. Null for a
   * program of another kind.
   */
  provide(program: string, place: BuildPlace): Promise<string[] | null>;
};
