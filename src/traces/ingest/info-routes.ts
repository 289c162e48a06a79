import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";

/** Clients warn below a certain version of the protocol they know; this is the one spoken here. */
const protocolVersion = "0.16.20";

const info = {
  version: protocolVersion,
  batch_ingest_config: {
    // All six or none: a client that finds some of them missing stops tracing silently.
    use_multipart_endpoint: true,
    scale_up_qsize_trigger: 1_000,
    scale_up_nthreads_limit: 16,
    scale_down_nempty_trigger: 4,
    size_limit: 100,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: {
    gzip_body_enabled: true,
    zstd_compression_enabled: true,
    dataset_examples_multipart_enabled: true,
    examples_multipart_enabled: true,
    ch_query_enabled: true,
    sdb_query_enabled: false,
  },
};

export function infoRoutes(): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/info",
        operationId: "get_tracing_info",
        summary: "What tracing clients can send",
        tag: "Tracing",
        access: { kind: "open" },
        responses: {
          200: {
            description: "Limits and abilities",
            schema: z.object({
              version: z.string(),
              batch_ingest_config: z.record(z.string(), z.union([z.number(), z.boolean()])),
              instance_flags: z.record(z.string(), z.boolean()),
            }),
          },
        },
      },
      () => json(200, info),
    ),
  ];
}
