import type { Deployment } from "./deployment-api.ts";

export type LimitTexts = { cpu: string; memory: string };

const text = (value: unknown) => (typeof value === "number" ? String(value) : "");

export function limitTexts({
  source_config: { resource_spec: spec },
}: Pick<Deployment, "source_config">): LimitTexts {
  return { cpu: text(spec?.cpu_limit), memory: text(spec?.memory_limit_mb) };
}

export function cpuProblem(given: string): string | null {
  const value = Number(given.trim().replace(",", "."));
  return given.trim() === "" || (value >= 0.1 && value <= 16) ? null : "Processors, from 0.1 to 16.";
}

export function memoryProblem(given: string): string | null {
  const isWhole = /^\d+$/.test(given.trim());
  return given.trim() === "" || (isWhole && Number(given) >= 64) ? null : "Megabytes: 64 or more.";
}

/** Nothing where nothing was changed: a specification that is sent replaces the whole one. */
export function limitsBody(
  deployment: Pick<Deployment, "source_config">,
  { cpu, memory }: LimitTexts,
): { resource_spec?: Record<string, unknown> } {
  const before = limitTexts(deployment);
  if (before.cpu === cpu.trim() && before.memory === memory.trim()) return {};
  const {
    cpu_limit: _cpu,
    memory_limit_mb: _memory,
    ...others
  } = deployment.source_config.resource_spec ?? {};
  return {
    resource_spec: {
      ...others,
      ...(cpu.trim() === "" ? {} : { cpu_limit: Number(cpu.trim().replace(",", ".")) }),
      ...(memory.trim() === "" ? {} : { memory_limit_mb: Number(memory) }),
    },
  };
}
