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
  /** Of builds, wherever they are. */
  builds?(): Promise<Pod[]>;
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
/** So many kubelets of other nodes are asked the same: one of them may have its own trouble. */
const mostControls = 3;

/** By the name of the node, how many times in a row. */
type Silences = Map<string, number>;
type Look = {
  silences: Silences;
  nodes: ReadonlyMap<string, readonly Pod[]>;
  /** Pods that take connections, on other nodes. */
  controls: readonly Pod[];
};

/**
 * Replaces the pods of nodes that are lost. The cluster itself waits for most of a minute before it says so, and only then may
 * anybody start others. A node is lost when none of our pods there answers, and its kubelet does not answer the API server, while
 * that of another node does: so neither a network that is broken on our side, or between the API server and the nodes, nor a kubelet
 * that is restarted is taken for it. A pod that is only cut off may go on for a while: its runs end with their leases.
 */
export class LostNodes {
  readonly #options: LostNodesOptions;
  readonly #times: typeof defaultTimes;
  /** A look of an earlier one decides nothing any more: others may look after the pods by now. */
  #current: { loop: WakeLoop; silences: Silences } | undefined;
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
      void this.#current?.loop.stop();
      this.#current = undefined;
    };
  }

  #start(): void {
    const silences: Silences = new Map();
    const loop = new WakeLoop({
      look: () => this.#look(silences),
      onFailure: (error) =>
        this.#options.logger.warn({ reason: errorMessage(error) }, "nodes cannot be looked at; trying again"),
    });
    this.#current = { loop, silences };
    loop.wake();
  }

  /** One connection for each node while all is well. */
  async #look(silences: Silences): Promise<number> {
    const nodes = nodesToAsk(this.#options.pods());
    const silent: string[] = [];
    const controls: Pod[] = [];
    const asked = [...nodes].map(async ([name, pods]) => {
      const serving = pods.filter(isServing);
      if (await this.#areSilent(serving)) silent.push(name);
      else controls.push(serving[0]!);
    });
    await Promise.all(asked);
    await this.#unmark([...nodes].filter(([name]) => !silent.includes(name)).flatMap(([, pods]) => pods));
    // Most of several at once: that is rather our own network, and few nodes would be left for others.
    const isOurs = nodes.size > 1 && silent.length * 2 > nodes.size;
    const counted = isOurs ? [] : silent;
    for (const name of silences.keys()) if (!counted.includes(name)) silences.delete(name);
    for (const name of counted) silences.set(name, (silences.get(name) ?? 0) + 1);
    for (const name of counted) await this.#decide(name, { silences, nodes, controls });
    return silent.length > 0 ? this.#times.againMs : this.#times.everyMs;
  }

  async #areSilent([first, ...others]: readonly Pod[]): Promise<boolean> {
    return (await this.#allSilent([first!])) && (await this.#allSilent(others));
  }

  async #allSilent(pods: readonly Pod[]): Promise<boolean> {
    const { isSilent: ask = isSilent } = this.#options;
    const asked = pods.map((pod) =>
      ask({ host: pod.status!.podIP!, port: portOf(pod) }, this.#times.connectMs),
    );
    return (await Promise.all(asked)).every((silent) => silent);
  }

  async #decide(name: string, { silences, nodes, controls }: Look): Promise<void> {
    if (silences.get(name)! < silencesUntilAsked) return;
    const pods = nodes.get(name)!;
    if (!(await this.#isKubeletSilent(pods.find(isServing)!, controls))) return;
    const builds = await this.#buildsOn(name);
    if (this.#current?.silences !== silences) return;
    const { logger } = this.#options;
    const all = [...pods, ...builds];
    const names = all.map(({ metadata }) => metadata.name);
    logger.warn({ node: name, pods: names }, "a node is lost: its pods are replaced");
    await Promise.all(all.map((pod) => this.#replace(pod)));
  }

  /** Whoever follows such a build begins it again when it sees the mark. */
  async #buildsOn(node: string): Promise<Pod[]> {
    const { builds, logger } = this.#options;
    try {
      const found = (await builds?.()) ?? [];
      return found.filter(({ spec, status }) => spec?.nodeName === node && !isOver(status?.phase));
    } catch (error) {
      const facts = { node, reason: errorMessage(error) };
      logger.warn(facts, "the builds on a lost node cannot be listed; the cluster ends them later");
      return [];
    }
  }

  /** Where there is no other node to compare with, it must do that the API server is there. */
  async #isKubeletSilent(pod: Pod, controls: readonly Pod[]): Promise<boolean> {
    if ((await this.#askKubelet(pod)) !== "silence") return false;
    if (controls.length === 0) return await this.#isApiAwake(pod.metadata.namespace!);
    const heard = await Promise.all(
      controls.slice(0, mostControls).map((control) => this.#askKubelet(control)),
    );
    return heard.includes("answer");
  }

  /**
   * The API server asks the kubelet for the last line of a log. What the kubelet itself fails with is an `InternalError`. Other
   * failures of the API server, or its waiting, say that it does not reach the kubelet. Whatever else happens says nothing.
   */
  async #askKubelet({ metadata }: Pod): Promise<"answer" | "silence" | "unclear"> {
    const { api } = this.#options;
    const path = `${pathsIn(metadata.namespace!).core}/pods/${metadata.name}/log`;
    const query = { container: serverContainer, tailLines: "1" };
    try {
      const response = await withPatience(this.#times.answerMs, (signal) =>
        api.open({ method: "GET", path, query, signal }),
      );
      response.destroy();
      return "answer";
    } catch (error) {
      if (error === outOfPatience) return "silence";
      if (!(error instanceof KubernetesRefusal)) return "unclear";
      if (error.reason === "InternalError") return "answer";
      return error.status >= 500 ? "silence" : "unclear";
    }
  }

  async #isApiAwake(namespace: string): Promise<boolean> {
    const signal = AbortSignal.timeout(this.#times.answerMs);
    const path = `${pathsIn(namespace).apps}/deployments?limit=1`;
    return await this.#options.api.get(path, signal).then(
      () => true,
      () => false,
    );
  }

  /** A pod that was marked and could not be deleted is a good one when its node is back, and so is the node. */
  async #unmark(pods: readonly Pod[]): Promise<void> {
    const { api, logger } = this.#options;
    const marked = pods.filter(({ metadata }) => metadata.labels?.[lostLabel] !== undefined);
    const patches = marked.map(async ({ metadata: { namespace, name, uid } }) => {
      const body = { metadata: { uid, labels: { [lostLabel]: null } } };
      try {
        await api.patch(`${pathsIn(namespace!).core}/pods/${name}`, body, manager);
        logger.info({ pod: name }, "the node of a pod is back before the pod was deleted; it is kept");
      } catch (error) {
        const facts = { pod: name, reason: errorMessage(error) };
        logger.warn(facts, "the mark of a pod whose node is back is not removed yet; trying again");
      }
    });
    await Promise.all(patches);
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

const isOver = (phase: string | undefined) => phase === "Succeeded" || phase === "Failed";

/** With the pods there that nobody has deleted yet, where one of them should answer. */
function nodesToAsk(pods: readonly Pod[]): Map<string, Pod[]> {
  const nodes = new Map<string, Pod[]>();
  for (const pod of pods) {
    const name = pod.spec?.nodeName;
    if (!name || pod.metadata.deletionTimestamp !== undefined) continue;
    nodes.set(name, [...(nodes.get(name) ?? []), pod]);
  }
  return new Map([...nodes].filter(([, there]) => there.some(isServing)));
}

const outOfPatience = new Error("no answer came in time");
const patienceSteps = 20;

/**
 * Gives up after that time, in steps of this process's own: while it stands still it can hear nothing, and however long that is, it
 * is one step.
 */
async function withPatience<Answer>(
  waitMs: number,
  ask: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const controller = new AbortController();
  let steps = 0;
  const timer = setInterval(() => {
    steps += 1;
    // What has arrived by then counts.
    if (steps === patienceSteps) setImmediate(() => controller.abort(outOfPatience));
  }, waitMs / patienceSteps);
  timer.unref();
  try {
    return await ask(controller.signal);
  } finally {
    clearInterval(timer);
  }
}
