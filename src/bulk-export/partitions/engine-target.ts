import { isIP } from "node:net";
import type { BucketSettings } from "../../platform/blob/blob-store.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import type { ObjectTarget } from "./run-source.ts";

const defaultRegion = "us-east-1";
/** Others mean something to the engine, or may be written in more than one way. */
const plainKey = /^[A-Za-z0-9_\-./=]+$/;

export type EngineTargetInput = {
  settings: BucketSettings;
  key: string;
  metadata: Record<string, string>;
  allowPrivateAddresses: boolean;
};

/**
 * Settings for an engine, whose endpoint we looked up and checked now. The engine looks up names itself, and by then one could lead
 * to what nobody may reach. So it gets the address. With TLS it needs the name: what it would be led to has no certificate for it.
 * Throws what the network's rules say.
 */
export async function checkedForEngine(
  settings: BucketSettings,
  network: Pick<NetworkGuard, "checkUrl">,
): Promise<BucketSettings> {
  if (settings.endpointUrl === null) return settings;
  const { url, addresses } = await network.checkUrl(settings.endpointUrl);
  const [first] = addresses;
  if (url.protocol !== "http:" || !first) return settings;
  const host = first.family === 6 ? `[${first.address}]` : first.address;
  const port = url.port === "" ? "" : `:${url.port}`;
  return { ...settings, endpointUrl: `http://${host}${port}${url.pathname.replace(/\/$/, "")}` };
}

/**
 * The object for an engine that writes it; undefined where only we can write it. A name that a caller chose is given to the engine
 * only where private addresses are permitted.
 */
export function engineTarget(input: EngineTargetInput): ObjectTarget | undefined {
  const { settings, key, metadata } = input;
  const { credentials, bucket, endpointUrl } = settings;
  if (credentials === null || bucket === null || settings.bucketInEndpoint || settings.accelerate)
    return undefined;
  if (Object.keys(settings.putArguments).length > 0 || !plainKey.test(key)) return undefined;
  if (endpointUrl === null) {
    const region = settings.region ?? defaultRegion;
    if (!/^[a-z0-9-]+$/.test(region)) return undefined;
    return { url: `https://s3.${region}.amazonaws.com/${bucket}/${key}`, credentials, metadata };
  }
  if (settings.addressingStyle === "virtual") return undefined;
  const { hostname } = new URL(endpointUrl);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, "")) !== 0;
  if (!input.allowPrivateAddresses && !isAddress) return undefined;
  return { url: `${endpointUrl}/${bucket}/${key}`, credentials, metadata };
}
