import { parse } from "smol-toml";

export type PoetryLock = {
  /** One line of a requirements file per package that the project itself needs. */
  requirements: string[];
  /** The same for every package, to hold versions by. */
  constraints: string[];
  /** Locked in several versions, between which only Poetry can choose. */
  open: string[];
};

type LockedPackage = {
  name: string;
  version: string;
  optional?: boolean;
  category?: string;
  groups?: string[];
  markers?: string | Record<string, string>;
  source?: {
    type?: string;
    url?: string;
    reference?: string;
    resolved_reference?: string;
    subdirectory?: string;
  };
};

/** The versions of a poetry.lock as pip and uv read them, so that Poetry itself need not be there. */
export function readPoetryLock(text: string): PoetryLock {
  const { package: packages = [] } = parse(text) as { package?: LockedPackage[] };
  const names = new Map<string, number>();
  for (const { name } of packages) names.set(name, (names.get(name) ?? 0) + 1);
  const isOpen = (each: LockedPackage) => names.get(each.name)! > 1 && markerOf(each) === null;
  const exact = packages.filter((each) => !isOpen(each));
  return {
    requirements: exact.filter(isMain).map(lineOf),
    constraints: exact.filter(({ source }) => !isLocal(source)).map(lineOf),
    open: [...new Set(packages.filter(isOpen).map(({ name }) => name))],
  };
}

/** Groups are in the file since Poetry 2; before, only what is optional can be told apart. */
function isMain({ groups, category, optional }: LockedPackage): boolean {
  if (optional) return false;
  if (groups !== undefined) return groups.includes("main");
  return category === undefined || category === "main";
}

function isLocal(source: LockedPackage["source"]): boolean {
  return source?.type === "directory" || source?.type === "file";
}

function lineOf(each: LockedPackage): string {
  const marker = markerOf(each);
  return `${requirementOf(each)}${marker === null ? "" : ` ; ${marker}`}`;
}

function requirementOf({ name, version, source }: LockedPackage): string {
  const { type, url = "" } = source ?? {};
  if (isLocal(source)) return /^[./]/.test(url) ? url : `./${url}`;
  if (type === "url") return `${name} @ ${url}`;
  if (type !== "git") return `${name}==${version}`;
  const folder = source?.subdirectory ? `#subdirectory=${source.subdirectory}` : "";
  return `${name} @ git+${url}@${source?.resolved_reference ?? source?.reference ?? "HEAD"}${folder}`;
}

function markerOf({ markers }: LockedPackage): string | null {
  const text = typeof markers === "string" ? markers : markers?.main;
  return text === undefined || text === "" ? null : text;
}
