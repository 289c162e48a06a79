import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import { WakeLoop } from "../../../platform/work/wake-loop.ts";
import { isSilent } from "../../endpoints/silence.ts";
import type { KubernetesApi } from "./api.ts";
import { pathsIn } from "./namespaces.ts";
import { lostLabel, manager, serverContainer } from "./objects.ts";
import { isServing, type Pod, portOf } from "./pods.ts";
import { KubernetesRefusal } from "./refusal.ts";

export type LostNodesOptions = {
  api: Pick<KubernetesApi, "open" | "get" | "patch" | "remove">;
  logger: Logger;
  /** Of the servers that this process looks after, as the cluster shows them now. */
  pods(): Pod[];
  times?: Partial<typeof defaultTimes>;
  isSilent?: typeof isSilent;
};

const defaultTimes = {
  everyMs: 5_000,
  /** While a node is silent. */
  againMs: 2_000,
  connectMs: 2_000,
  answerMs: 5_000,
};
/** A node that was silent so many times in a row is asked about at the API server. */
const silencesUntilAsked = 3;

/**
 * Replaces the pods of nodes that are lost. The cluster itself waits for most of a minute before it says so, and only then may
 * anybody start others. A node is lost when none of our pods there takes a connection, and its kubelet does not answer the API server,
 * while the API server answers us: so neither a network that is broken on our side nor a kubelet that is restarted is
 * taken for it. A pod that is only cut off may go on for a while: its runs end with their leases.
 */
export class LostNodes {
  readonly #options: LostNodesOptions;
  readonly #times: typeof defaultTimes;
  readonly #silences = new Map<string, number>();
  #loop: WakeLoop | undefined;
  #users = 0;

  constructor(options: LostNodesOptions) {
    this.#options = options;
    this.#times = { ...defaultTimes, ...options.times };
  }

  /** It looks until everybody who asked for it has called back. */
  watch(): () => void {
    this.#users += 1;
    if (this.#users === 1) this.#start();
    return () => {
      this.#users -= 1;
      if (this.#users > 0) return;
      void this.#loop?.stop();
      this.#loop = undefined;
      this.#silences.clear();
    };
  }

  #start(): void {
    this.#loop = new WakeLoop({
      look: () => this.#look(),
      onFailure: (error) =>
        this.#options.logger.warn({ reason: errorMessage(error) }, "nodes cannot be looked at; trying again"),
    });
    this.#loop.wake();
  }

  /** One connection for each node while all is well. */
  async #look(): Promise<number> {
    const nodes = podsByNode(this.#options.pods());
    for (const name of this.#silences.keys()) if (!nodes.has(name)) this.#silences.delete(name);
    const silent = await Promise.all(
      [...nodes].map(async ([name, pods]) => ((await this.#isSilent(name, pods)) ? [name] : [])),
    ).then((names) => names.flat());
    // All of several at once: that is rather our own network, and no node would be left for others.
    const isOurs = silent.length > 1 && silent.length === nodes.size;
    if (!isOurs) for (const name of silent) await this.#decide(name, nodes.get(name)!);
    return silent.length > 0 ? this.#times.againMs : this.#times.everyMs;
  }

  async #isSilent(name: string, pods: readonly Pod[]): Promise<boolean> {
    const [first, ...others] = pods.filter(isServing);
    const silent = first !== undefined && (await this.#allSilent([first])) && (await this.#allSilent(others));
    if (silent) this.#silences.set(name, (this.#silences.get(name) ?? 0) + 1);
    else this.#silences.delete(name);
    return silent;
  }

  async #allSilent(pods: readonly Pod[]): Promise<boolean> {
    const { isSilent: ask = isSilent } = this.#options;
    const asked = pods.map((pod) =>
      ask({ host: pod.status!.podIP!, port: portOf(pod) }, this.#times.connectMs),
    );
    return (await Promise.all(asked)).every((silent) => silent);
  }

  async #decide(name: string, pods: readonly Pod[]): Promise<void> {
    if ((this.#silences.get(name) ?? 0) < silencesUntilAsked) return;
    const asked = pods.find(isServing);
    if (!asked || !(await this.#isKubeletSilent(asked))) return;
    const { logger } = this.#options;
    const names = pods.map(({ metadata }) => metadata.name);
    logger.warn({ node: name, pods: names }, "a node is lost: its pods are replaced");
    await Promise.all(pods.map((pod) => this.#replace(pod)));
  }

  /** The API server asks the kubelet for the last line of a log. Only its own refusal to do so, or silence, counts. */
  async #isKubeletSilent({ metadata }: Pod): Promise<boolean> {
    const { api } = this.#options;
    const path = `${pathsIn(metadata.namespace!).core}/pods/${metadata.name}`;
    const query = { container: serverContainer, tailLines: "1" };
    const signal = AbortSignal.timeout(this.#times.answerMs);
    const kubelet = api.open({ method: "GET", path: `${path}/log`, query, signal }).then(
      (response) => {
        response.destroy();
        return true;
      },
      (error: unknown) => error instanceof KubernetesRefusal && error.status < 500,
    );
    return !(await kubelet) && (await this.#isApiAwake(metadata.namespace!));
  }

  async #isApiAwake(namespace: string): Promise<boolean> {
    const signal = AbortSignal.timeout(this.#times.answerMs);
    const path = `${pathsIn(namespace).apps}/deployments?limit=1`;
    return await this.#options.api.get(path, signal).then(
      () => true,
      () => false,
    );
  }

  /**
   * The mark keeps the next pod away from that node, which the scheduler still takes for a good one. Mark and pod go when the
   * node is back or is removed from the cluster.
   */
  async #replace({ metadata }: Pod): Promise<void> {
    const { api, logger } = this.#options;
    const path = `${pathsIn(metadata.namespace!).core}/pods/${metadata.name}`;
    try {
      await api.patch(path, { metadata: { uid: metadata.uid, labels: { [lostLabel]: "true" } } }, manager);
      await api.remove(path, { uid: metadata.uid });
    } catch (error) {
      logger.warn(
        { pod: metadata.name, reason: errorMessage(error) },
        "a lost pod is not replaced yet; trying again",
      );
    }
  }
}

/** Those that nobody has deleted yet. */
function podsByNode(pods: readonly Pod[]): Map<string, Pod[]> {
  const nodes = new Map<string, Pod[]>();
  for (const pod of pods) {
    const name = pod.spec?.nodeName;
    if (!name || pod.metadata.deletionTimestamp !== undefined) continue;
    nodes.set(name, [...(nodes.get(name) ?? []), pod]);
  }
  return nodes;
}
