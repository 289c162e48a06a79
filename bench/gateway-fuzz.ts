/**
 * Raw HTTP exchanges through the gateway, broken in both directions: does an answer ever reach somebody else, or a
 * request that nobody made reach the server? `node bench/gateway-fuzz.ts [--exchanges 20000] [--seed 1]`.
 */
import { parseArgs } from "node:util";
import { fuzzGateway } from "../tests/support/gateway-fuzz.ts";

const { values } = parseArgs({
  options: { exchanges: { type: "string", default: "20000" }, seed: { type: "string", default: "1" } },
});
const started = performance.now();
const result = await fuzzGateway({ exchanges: Number(values.exchanges), seed: Number(values.seed) });
const seconds = Math.round((performance.now() - started) / 1000);
console.log(JSON.stringify({ ...result, seconds }, null, 2));
process.exit(result.desynchronised.length === 0 ? 0 : 1);
