import { Link } from "wouter";
import type { Deployment } from "./deployment-api.ts";

const words: Readonly<Record<string, string>> = {
  process: "this host",
  docker: "Docker",
  kubernetes: "Kubernetes",
};

/** Where its server runs; a listener by its name. */
export function RunsOn({ deployment: { runs_on: place } }: { deployment: Pick<Deployment, "runs_on"> }) {
  if (place.kind !== "listener") return <>{words[place.kind] ?? place.kind}</>;
  if (place.name === null) return <>a listener that was removed</>;
  return (
    <>
      the listener <Link href="/settings?tab=listeners">{place.name}</Link>
    </>
  );
}
