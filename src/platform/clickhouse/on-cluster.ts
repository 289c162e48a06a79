/**
 * A statement of a migration for all servers of a cluster, with tables that replicate themselves. Where Keeper has what
 * belongs to them follows from the servers' own settings (`default_replica_path`), as ClickHouse recommends.
 */
export function onCluster(statement: string, cluster: string | undefined): string {
  if (cluster === undefined) return statement;
  const clause = ` on cluster '${cluster.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  return statement
    .replace(
      /^(?:create (?:table|view|materialized view|dictionary) if not exists|drop (?:table|view|dictionary) if exists|alter table) [a-z0-9_]+/i,
      (start) => start + clause,
    )
    .replace(/^(.*\bengine\s*=\s*)(\w*MergeTree\b)/ims, (_whole, start: string, engine: string) =>
      engine.startsWith("Replicated") ? start + engine : `${start}Replicated${engine}`,
    );
}
