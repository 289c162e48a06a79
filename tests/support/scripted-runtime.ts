import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { type Exit, exitedWith } from "../../src/control-plane/runtimes/exit.ts";
import {
  type Handle,
  type Runtime,
  readyFileName,
  type StartSpec,
} from "../../src/control-plane/runtimes/runtime.ts";

/** Servers that do what the test asks of them. Real runtimes have a suite of their own: tests/conformance/runtimes. */
export class ScriptedRuntime implements Runtime {
  readonly name = "scripted";
  readonly runs = { built: true, images: true };
  readonly outlivesPlatform = false;
  readonly host = "127.0.0.1";
  readonly started: StartSpec[] = [];
  readonly asked: string[] = [];
  /** What `start` does before it returns. */
  beforeStart: (signal: AbortSignal) => Promise<void> = async () => {};
  /** Whether a server that is asked to stop does so. */
  obedient = true;
  readonly #ends = new Map<string, PromiseWithResolvers<Exit>>();
  readonly #servers = new Map<string, Server>();

  isolation(): never {
    throw new Error("nobody asks");
  }

  async start(spec: StartSpec, signal: AbortSignal): Promise<Handle> {
    await this.beforeStart(signal);
    await mkdir(spec.instanceFolder, { recursive: true });
    await mkdir(join(spec.logPath, ".."), { recursive: true });
    await writeFile(spec.logPath, "");
    this.started.push(spec);
    this.#ends.set(spec.instanceId, Promise.withResolvers());
    return { id: spec.instanceId };
  }

  /** Answers `/ok` on its port. */
  async serve({ instanceId, port }: StartSpec): Promise<void> {
    const server = createServer((_request, response) => response.end("{}"));
    this.#servers.set(instanceId, server);
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  }

  announce({ instanceFolder }: StartSpec, broken: Record<string, string> = {}): Promise<void> {
    return writeFile(join(instanceFolder, readyFileName), JSON.stringify({ graphs: ["agent"], broken }));
  }

  end(instanceId: string, exit: Exit): void {
    this.#servers.get(instanceId)?.close();
    this.#ends.get(instanceId)!.resolve(exit);
    this.#ends.delete(instanceId);
  }

  isRunning = async ({ id }: Handle) => this.#ends.has(id as string);
  ended = ({ id }: Handle) => this.#ends.get(id as string)!.promise;
  find = async (id: string) => (this.#ends.has(id) ? { id } : null);
  usages = async () => new Map();
  readonly scaled = new Map<unknown, number>();
  replicas = ({ id }: Handle) => this.scaled.get(id) ?? 1;
  scale = async ({ id }: Handle, replicas: number) => void this.scaled.set(id, replicas);

  async stop({ id }: Handle): Promise<void> {
    this.asked.push("stop");
    if (this.obedient) this.end(id as string, exitedWith(0));
  }

  async kill({ id }: Handle): Promise<void> {
    this.asked.push("kill");
    if (this.#ends.has(id as string)) this.end(id as string, { kind: "signal", detail: "SIGKILL" });
  }
}
