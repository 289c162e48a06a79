import { createHash } from "node:crypto";
import { networkInterfaces } from "node:os";
import { AppError } from "../../../platform/errors.ts";
import { addressesIn } from "../../../platform/network/network-address.ts";
import type { DockerEngine } from "./engine.ts";

/** The network of one deployment, and the address under which this machine is found in it. */
export type DeploymentNetwork = { name: string; gateway: string; subnet: string };

/** Fourteen servers of one deployment at once, and 4,096 deployments in the usual range. */
const prefixBits = 28;
const maxTries = 64;
/** Firewall rules can name them all: `-i trd+`. */
const bridgePrefix = "trd-";

type Described = { Name: string; IPAM: { Config: { Subnet: string; Gateway: string }[] | null } };

/** Makes the network of a deployment where it is missing. Docker's own default ranges end after some thirty networks. */
export async function ensureNetwork(
  engine: DockerEngine,
  deploymentId: string,
  range: string,
): Promise<DeploymentNetwork> {
  const name = networkName(deploymentId);
  const known = await findNetwork(engine, name);
  if (known) return known;
  const taken = machineAddresses();
  for (let attempt = 0; attempt < maxTries; attempt += 1) {
    const { subnet, gateway } = chooseSubnet(range, deploymentId, attempt);
    if (taken.some(addressesIn([subnet]))) continue;
    const body = {
      Name: name,
      Driver: "bridge",
      CheckDuplicate: true,
      EnableIPv6: false,
      IPAM: { Config: [{ Subnet: subnet, Gateway: gateway }] },
      Options: {
        "com.docker.network.bridge.name": bridgeName(deploymentId),
        // Servers of one deployment need not reach one another either.
        "com.docker.network.bridge.enable_icc": "false",
        "com.docker.network.bridge.host_binding_ipv4": "127.0.0.1",
      },
      Labels: { "treadle.deployment": deploymentId },
    };
    try {
      await engine.call({ method: "POST", path: "/networks/create", body });
      return { name, gateway, subnet };
    } catch (error) {
      const again = await findNetwork(engine, name);
      if (again) return again;
      if (!isOverlap(error)) throw error;
    }
  }
  throw new AppError({
    code: "runtime.no_subnet",
    kind: "unavailable",
    retryable: false,
    message: `No free network was found in ${range} for the deployment's container. Remove networks that are not used (docker network prune), or set another range in TREADLE_DOCKER_SUBNETS.`,
  });
}

export async function findNetwork(engine: DockerEngine, name: string): Promise<DeploymentNetwork | null> {
  const found = await engine.call<Described>({ method: "GET", path: `/networks/${name}` });
  const [config] = found?.IPAM.Config ?? [];
  return config ? { name, gateway: config.Gateway, subnet: config.Subnet } : null;
}

/** Returns whether it is gone; it stays while another server of the deployment is in it. */
export async function removeUnusedNetwork(engine: DockerEngine, name: string): Promise<boolean> {
  try {
    await engine.call({ method: "DELETE", path: `/networks/${name}` });
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "runtime.docker_refused") return false;
    throw error;
  }
}

export function networkName(deploymentId: string): string {
  return `treadle-${deploymentId}`;
}

/** A name of an interface has at most fifteen characters. */
export function bridgeName(deploymentId: string): string {
  return bridgePrefix + createHash("sha256").update(deploymentId).digest("hex").slice(0, 11);
}

/** Where a deployment's network lies in the range; the next place with each attempt. */
export function chooseSubnet(range: string, deploymentId: string, attempt: number) {
  const [base = "", bits = ""] = range.split("/");
  const count = 2 ** (prefixBits - Number(bits));
  const start = createHash("sha256").update(deploymentId).digest().readUInt32BE(0) + attempt * 97;
  const first = numberOf(base) + (start % count) * 2 ** (32 - prefixBits);
  return { subnet: `${textOf(first)}/${prefixBits}`, gateway: textOf(first + 1) };
}

/** A range of this machine's own, with room for at least sixteen deployments, written from its first address. */
export function isSubnetRange(text: string): boolean {
  const match = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text);
  if (!match || match[1]!.split(".").some((part) => Number(part) > 255)) return false;
  const bits = Number(match[2]);
  return bits >= 8 && bits <= prefixBits - 4 && numberOf(match[1]!) % 2 ** (32 - bits) === 0;
}

const numberOf = (address: string) =>
  address.split(".").reduce((number, part) => number * 256 + Number(part), 0);

const textOf = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");

function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
}

function isOverlap(error: unknown): boolean {
  return error instanceof AppError && /overlap|conflicts with network|already exists/i.test(error.message);
}
