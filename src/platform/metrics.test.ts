import { describe, expect, it } from "vitest";
import { Metrics } from "./metrics.ts";

describe("metrics", () => {
  it("counts requests by method, route and status", async () => {
    const metrics = new Metrics({ processMetrics: false });
    const observe = metrics.requestObserver("/things/{id}");
    observe("GET", 200, 3);
    observe("GET", 200, 700);
    observe("BREW", 405, 1);
    const { body, contentType } = await metrics.render("prometheus");
    expect(contentType).toContain("text/plain");
    expect(body).toContain('lg_api_http_requests_total{method="GET",path="/things/{id}",status="200"} 2');
    expect(body).toContain('lg_api_http_requests_total{method="OTHER",path="/things/{id}",status="405"} 1');
    expect(body).toContain('lg_api_http_requests_latency_bucket{le="5",method="GET",path="/things/{id}"} 1');
    expect(body).toContain('lg_api_http_requests_latency_sum{method="GET",path="/things/{id}"} 703');
  });
  it("reads gauges when asked", async () => {
    const metrics = new Metrics({ processMetrics: false });
    let waiting = 1;
    metrics.poolGauges(() => ({ total: 10, idle: 4, waiting }));
    metrics.gauge("num_pending_runs", "Runs waiting.", async () => 7);
    waiting = 5;
    const { body } = await metrics.render("prometheus");
    expect(body).toContain("lg_api_pg_pool_size 10");
    expect(body).toContain("lg_api_pg_pool_idle 4");
    expect(body).toContain("lg_api_pg_pool_waiting 5");
    expect(body).toContain("lg_api_num_pending_runs 7");
  });
  it("gives the same as JSON", async () => {
    const metrics = new Metrics();
    metrics.requestObserver("/ok")("GET", 200, 1);
    const { body, contentType } = await metrics.render("json");
    expect(contentType).toBe("application/json");
    const names = (JSON.parse(body) as { name: string }[]).map(({ name }) => name);
    expect(names).toContain("lg_api_http_requests_total");
    expect(names).toContain("lg_api_process_cpu_seconds_total");
  });
  it("shows the figures of other processes under labels, each name once", async () => {
    const [own, other] = [new Metrics({ processMetrics: false }), new Metrics({ processMetrics: false })];
    own.requestObserver("/ok")("GET", 200, 3);
    other.requestObserver("/ok")("GET", 200, 7);
    other.counter("only_there", "Known to the other alone.").inc(4);
    own.include(async () => [{ labels: { worker: "1" }, figures: await other.figures() }]);
    const { body, contentType } = await own.render("prometheus");
    expect(contentType).toContain("text/plain");
    const requests = body.split("\n").filter((line) => line.includes("lg_api_http_requests_total"));
    expect(requests).toEqual([
      "# HELP lg_api_http_requests_total HTTP requests answered, by method, route and status.",
      "# TYPE lg_api_http_requests_total counter",
      'lg_api_http_requests_total{method="GET",path="/ok",status="200"} 1',
      'lg_api_http_requests_total{method="GET",path="/ok",status="200",worker="1"} 1',
    ]);
    expect(body).toContain('lg_api_http_requests_latency_sum{method="GET",path="/ok",worker="1"} 7');
    expect(body).toContain('lg_api_only_there{worker="1"} 4');
    const json = JSON.parse((await own.render("json")).body) as { name: string; values: object[] }[];
    expect(json.find(({ name }) => name === "lg_api_http_requests_total")?.values).toHaveLength(2);
  });
  it("shares nothing between two registries", async () => {
    const [one, other] = [new Metrics({ processMetrics: false }), new Metrics({ processMetrics: false })];
    one.counter("things_total", "Things.").inc();
    expect((await one.render("prometheus")).body).toContain("lg_api_things_total 1");
    expect((await other.render("prometheus")).body).not.toContain("things");
  });
});
