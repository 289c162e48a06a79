import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DnsServer, startDnsServer } from "../../../tests/support/components/dns-server.ts";
import { DnsFailed, dnsTxtRecords } from "./dns-records.ts";

let dns: DnsServer;
beforeEach(async () => {
  dns = await startDnsServer();
});
afterEach(() => dns?.stop());

describe("TXT records", () => {
  it("are read from the server that is named, long ones as one text", async () => {
    const long = "x".repeat(300);
    dns.records.set("_treadle.agent.example.com", ["one", long]);
    const found = await dnsTxtRecords([dns.address])("_treadle.agent.example.com");
    expect(found.sort()).toEqual(["one", long]);
    expect(dns.asked).toContain("_treadle.agent.example.com");
  });

  it("are none where the name is unknown or has none", async () => {
    dns.records.set("empty.example.com", []);
    const records = dnsTxtRecords([dns.address]);
    expect([await records("unknown.example.com"), await records("empty.example.com")]).toEqual([[], []]);
  });

  it("are not known when the server cannot answer or is not there", async () => {
    dns.mood = "fails";
    await expect(dnsTxtRecords([dns.address])("agent.example.com")).rejects.toBeInstanceOf(DnsFailed);
    await expect(dnsTxtRecords(["127.0.0.1:9"])("agent.example.com")).rejects.toBeInstanceOf(DnsFailed);
  });
});
