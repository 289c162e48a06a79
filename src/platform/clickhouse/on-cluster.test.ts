import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { migrationsFolder } from "../package-facts.ts";
import { onCluster } from "./on-cluster.ts";

describe("statements for a cluster", () => {
  it.each([
    [
      "create table if not exists a (b UInt32)\nengine = ReplacingMergeTree(b)\norder by b",
      "create table if not exists a on cluster 'c' (b UInt32)\nengine = ReplicatedReplacingMergeTree(b)\norder by b",
    ],
    [
      "create table if not exists a (b UInt32) engine = MergeTree order by b",
      "create table if not exists a on cluster 'c' (b UInt32) engine = ReplicatedMergeTree order by b",
    ],
    [
      "alter table a add column if not exists d String",
      "alter table a on cluster 'c' add column if not exists d String",
    ],
    ["alter table a modify column d String", "alter table a on cluster 'c' modify column d String"],
    ["drop table if exists a", "drop table if exists a on cluster 'c'"],
    [
      "create view if not exists v as select b from a",
      "create view if not exists v on cluster 'c' as select b from a",
    ],
  ])("%s", (statement, expected) => {
    expect(onCluster(statement, "c")).toBe(expected);
    expect(onCluster(statement, undefined)).toBe(statement);
  });

  it("name the cluster as a text, whatever is in it", () => {
    expect(onCluster("drop table if exists a", "{cluster}")).toBe(
      "drop table if exists a on cluster '{cluster}'",
    );
    expect(onCluster("drop table if exists a", "it's")).toBe("drop table if exists a on cluster 'it\\'s'");
  });

  it("of the project make every table a replicated one", () => {
    for (const name of ["0001_runs.sql", "0002_feedback.sql", "0004_smaller_blocks.sql"]) {
      const text = readFileSync(join(migrationsFolder, "clickhouse", name), "utf8").replace(
        /^\s*--.*$/gm,
        "",
      );
      for (const statement of text.split(/;\s*$/m).map((each) => each.trim())) {
        if (!/^create table/i.test(statement)) continue;
        const sent = onCluster(statement, "c");
        expect(sent).toMatch(/^create table if not exists \w+ on cluster 'c' \(/);
        expect(sent).toMatch(/\bengine = Replicated\w*MergeTree/);
        expect(sent.length).toBe(statement.length + " on cluster 'c'".length + "Replicated".length);
      }
    }
  });
});
