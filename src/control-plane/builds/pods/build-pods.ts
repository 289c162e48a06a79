/** One build that is to run in a pod. */
export type BuildPodOrder = {
  id: string;
  revisionId: string;
  deploymentId: string;
  workspaceId: string;
  /** What its pod shows to the platform; good for this build alone. */
  token: string;
  /** What its commands may see of the platform's environment. */
  environment: Record<string, string>;
  timeoutMs: number;
};

/** In words, which machine. */
export class BuildPodLost extends Error {}

/** Where builds run that do not run beside the platform. Each is known by its id: asking again finds the same build. */
export interface BuildPods {
  /** What builds run in; a build in another comes out differently. */
  readonly image: string;
  /** Does nothing where it is there already. */
  start(order: BuildPodOrder): Promise<void>;
  /**
   * Resolves when the pod has ended: with what went wrong with it, in words, or null when it ended in order. `onProblem`
   * hears why it does not begin. Rejects with `BuildPodLost` when the pod went with its machine, which is no fault of the build.
   */
  ended(
    order: Pick<BuildPodOrder, "id" | "workspaceId" | "timeoutMs">,
    onProblem: (problem: string) => void,
    signal: AbortSignal,
  ): Promise<string | null>;
  remove(order: Pick<BuildPodOrder, "id" | "workspaceId">): Promise<void>;
  /** Everything of this installation that is not among these goes. */
  removeOthers(live: () => Promise<ReadonlySet<string>>): Promise<void>;
}
