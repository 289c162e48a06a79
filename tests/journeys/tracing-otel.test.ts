import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";

/** The unmodified OpenTelemetry exporters, JSON and protobuf, send a trace with a model call in it. */
let test: TestApp;
let url: string;
beforeAll(async () => {
  test = await createTestApp();
  url = await test.listen();
});
afterAll(() => test?.stop());

type Query = { runs: Record<string, unknown>[] };

describe.each([
  ["JSON", JsonExporter],
  ["protobuf", ProtobufExporter],
])("OTLP over HTTP as %s", (name, Exporter) => {
  it("becomes a trace with names, types, tokens, errors and parents", async () => {
    const project = `otel-${name}`;
    const exporter = new Exporter({
      url: `${url}/api/v1/otel/v1/traces`,
      headers: { "x-api-key": test.apiKey, "x-tenant-id": test.workspaceId, "Langsmith-Project": project },
    });
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    const tracer = provider.getTracer("journey");
    const root = tracer.startSpan("answer a question", {
      attributes: { "openinference.span.kind": "CHAIN" },
    });
    const inside = trace.setSpan(context.active(), root);
    const call = tracer.startSpan(
      "chat model",
      {
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.system": "openai",
          "gen_ai.request.model": "gpt-4o-mini",
          "gen_ai.usage.input_tokens": 12,
          "gen_ai.usage.output_tokens": 5,
          "input.value": "what time is it?",
          "output.value": "late",
        },
      },
      inside,
    );
    call.end();
    const failed = tracer.startSpan("a tool", { attributes: { "openinference.span.kind": "TOOL" } }, inside);
    failed.recordException(new Error("no clock here"));
    failed.setStatus({ code: SpanStatusCode.ERROR, message: "no clock here" });
    failed.end();
    root.end();
    await provider.forceFlush();
    await provider.shutdown();

    const { body: sessions } = await test.call<{ id: string }[]>("GET", `/api/v1/sessions?name=${project}`);
    expect(sessions).toHaveLength(1);
    const { body } = await test.call<Query>("POST", "/api/v1/runs/query", {
      body: { session: [sessions[0]!.id] },
    });
    const byName = Object.fromEntries(body.runs.map((run) => [run.name, run]));
    expect(Object.keys(byName).sort()).toEqual(["a tool", "answer a question", "chat model"]);
    const { id } = byName["answer a question"]!;
    expect(byName["answer a question"]).toMatchObject({
      run_type: "chain",
      status: "success",
      parent_run_id: null,
    });
    expect(byName["chat model"]).toMatchObject({
      run_type: "llm",
      parent_run_id: id,
      prompt_tokens: 12,
      completion_tokens: 5,
    });
    expect(byName["a tool"]).toMatchObject({ run_type: "tool", status: "error", parent_run_id: id });
    expect(String(byName["a tool"]!.error)).toContain("no clock here");
  });
});
