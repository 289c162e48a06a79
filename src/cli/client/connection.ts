import { AppError } from "../../platform/errors.ts";
import { suggestion } from "../terminal/near-names.ts";

export const defaultUrl = "http://127.0.0.1:8124";

export type Profile = { url: string; api_key?: string | undefined; workspace_id?: string | undefined };
export type Profiles = { current: string | null; profiles: Record<string, Profile> };

/** A server started from a folder here: its credentials, and every address it is known by. */
export type LocalServer = { path: string; urls: string[]; apiKey: string; workspaceId: string };

export type ConnectionSources = {
  flags: {
    url?: string | undefined;
    apiKey?: string | undefined;
    workspace?: string | undefined;
    profile?: string | undefined;
  };
  environment: Readonly<Record<string, string | undefined>>;
  profiles: Profiles;
  local: LocalServer | null;
};

export type Connection = {
  url: string;
  apiKey: string | null;
  workspaceId: string | null;
  profile: string | null;
  /** Where the address and the key come from, for messages. */
  urlFrom: string;
  keyFrom: string | null;
};

/**
 * Which server, and with which credential. The first that names an address wins: options, environment, profile, the
 * server started here. A key kept with an address is never sent to another one.
 */
export function resolveConnection({ flags, environment, profiles, local }: ConnectionSources): Connection {
  const named = flags.profile === undefined ? undefined : profileOf(profiles, flags.profile, "--profile");
  const { url, urlFrom, profile } = chooseUrl();
  const kept = keptFor(url, profile);
  const ownKey = environment.TREADLE_API_KEY || undefined;
  const key: [string | undefined, string][] = [
    [flags.apiKey, "--api-key"],
    [
      flags.url === undefined || sameServer(flags.url, named?.url) ? named?.api_key : undefined,
      `profile ${flags.profile}`,
    ],
    [ownKey, "TREADLE_API_KEY"],
    [kept?.apiKey, kept?.from ?? ""],
  ];
  const found = key.find(([value]) => value !== undefined && value !== "");
  return {
    url,
    urlFrom,
    profile,
    apiKey: found?.[0] ?? null,
    keyFrom: found?.[1] ?? null,
    workspaceId:
      flags.workspace || named?.workspace_id || environment.TREADLE_WORKSPACE_ID || kept?.workspaceId || null,
  };

  function chooseUrl(): { url: string; urlFrom: string; profile: string | null } {
    if (flags.url !== undefined)
      return { url: normalUrl(flags.url, "--url"), urlFrom: "--url", profile: null };
    if (named !== undefined) return fromProfile(flags.profile ?? "", named);
    if (environment.TREADLE_URL) {
      return {
        url: normalUrl(environment.TREADLE_URL, "TREADLE_URL"),
        urlFrom: "TREADLE_URL",
        profile: null,
      };
    }
    const chosen = environment.TREADLE_PROFILE || profiles.current;
    if (chosen) return fromProfile(chosen, profileOf(profiles, chosen, "TREADLE_PROFILE"));
    const [first] = local?.urls ?? [];
    if (local && first) return { url: normalUrl(first, local.path), urlFrom: local.path, profile: null };
    return { url: defaultUrl, urlFrom: "the default", profile: null };
  }

  function keptFor(address: string, chosen: string | null) {
    const names = [chosen, profiles.current, ...Object.keys(profiles.profiles)];
    const name = names.find((each) => each && sameServer(profiles.profiles[each]?.url, address));
    const match = name ? profiles.profiles[name] : undefined;
    if (match) return { apiKey: match.api_key, workspaceId: match.workspace_id, from: `profile ${name}` };
    if (local?.urls.some((each) => sameServer(each, address))) {
      return { apiKey: local.apiKey, workspaceId: local.workspaceId, from: local.path };
    }
    return null;
  }
}

function fromProfile(name: string, profile: Profile) {
  return { url: normalUrl(profile.url, `profile ${name}`), urlFrom: `profile ${name}`, profile: name };
}

function profileOf(profiles: Profiles, name: string, from: string): Profile {
  const found = profiles.profiles[name];
  if (found) return found;
  const names = Object.keys(profiles.profiles);
  const known = names.length === 0 ? "There is none yet." : `There are: ${names.join(", ")}.`;
  throw new AppError({
    code: "client.profile_unknown",
    kind: "not_found",
    message: `There is no profile ${name} (from ${from}).${suggestion(name, names)} ${known} Create one with \`treadle login --profile ${name}\`.`,
  });
}

/** An http(s) address without a final slash. */
export function normalUrl(text: string, from: string): string {
  const complete = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(complete) ? new URL(complete) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "" && url.hash === "") {
    return url.href.replace(/\/+$/, "");
  }
  throw new AppError({
    code: "client.address_invalid",
    kind: "invalid",
    message: `${JSON.stringify(text)} (from ${from}) is not the address of a server. It must be like https://treadle.example.com.`,
  });
}

function sameServer(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined || !URL.canParse(one) || !URL.canParse(other)) return false;
  const bare = (text: string) => new URL(text).href.replace(/\/+$/, "").replace("//localhost", "//127.0.0.1");
  return bare(one) === bare(other);
}
