import { randomUUID } from "node:crypto";
import type { ControlPlaneServer } from "./control-plane.ts";

type Deployment = { id: string; latest_revision_id: string };

/** A listener of a platform and a key for it, without a process: what it sends is a test's to choose. */
export class ListenerPeer {
  readonly plane: ControlPlaneServer;
  readonly id: string;
  readonly key: string;
  #number = 0;

  constructor(plane: ControlPlaneServer, { id, key }: { id: string; key: string }) {
    this.plane = plane;
    this.id = id;
    this.key = key;
  }

  static async make(plane: ControlPlaneServer): Promise<ListenerPeer> {
    const { body } = await plane.call<{ id: string }>("POST", "/v2/listeners", {
      ...{ compute_type: "process", compute_id: randomUUID(), compute_config: {} },
    });
    return new ListenerPeer(plane, { id: body.id, key: await ListenerPeer.key(plane) });
  }

  static async key(plane: ControlPlaneServer): Promise<string> {
    const made = await plane.call<{ key: string }>("POST", "/v2/api-keys", {
      ...{ name: "listener", service: true, scopes: ["listener"] },
    });
    return made.body.key;
  }

  call<Body>(method: string, path: string, body?: unknown) {
    return this.plane.call<Body>(method, `/v2/listeners/${this.id}${path}`, body, { "x-api-key": this.key });
  }

  async takeLease(place: string = randomUUID()): Promise<number> {
    const lease = await this.call<{ epoch: number }>("POST", "/lease", {
      ...{ place, holder: randomUUID(), version: "1", runtime: "process", url: "http://127.0.0.1:9" },
    });
    if (lease.status !== 200) throw new Error(`no lease: ${lease.status} ${JSON.stringify(lease.body)}`);
    return lease.body.epoch;
  }

  report(epoch: number, told: object) {
    this.#number += 1;
    const nothing = {
      ...{ epoch, number: this.#number, held: [], deployments: [], revisions: [], instances: [] },
      ...{ events: { after: 0, upto: 0, items: [] }, logs: { after: 0, upto: 0, items: [] } },
      metrics: { until: null, items: [] },
    };
    return this.call<{ log_cursor: number; event_cursor: number }>("POST", "/reports", {
      ...nothing,
      ...told,
    });
  }

  async deploy(more: object = {}): Promise<Deployment> {
    const made = await this.plane.call<Deployment>("POST", "/v2/deployments", {
      ...{ name: `d-${randomUUID()}`, secrets: [], source: "github" },
      source_config: { repo_url: "http://127.0.0.1:9/x.git", listener_id: this.id },
      source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
      ...more,
    });
    if (made.status !== 201) throw new Error(`no deployment: ${made.status} ${JSON.stringify(made.body)}`);
    return made.body;
  }
}
