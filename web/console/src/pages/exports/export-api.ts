import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { api, query } from "../../api/client.ts";
import type {
  Bodies,
  BulkExport,
  BulkExportDestination,
  BulkExportFile,
  BulkExportFileLink,
  BulkExportPreview,
  BulkExportRun,
  TraceProject,
} from "../../api/wire.ts";

export type { BulkExport } from "../../api/wire.ts";
export type Destination = BulkExportDestination;
export type ExportRun = BulkExportRun;
export type ExportFile = BulkExportFile;
export type Preview = BulkExportPreview;
export type Project = Pick<TraceProject, "id" | "name" | "reference_dataset_id">;

export const exportsPath = "/api/v1/bulk-exports";
export const destinationsPath = `${exportsPath}/destinations`;
const pageSize = 50;
const filesPageSize = 100;

export function isOpen({ status }: { status: string }): boolean {
  return status === "CREATED" || status === "RUNNING";
}

export function isSchedule({ interval_hours }: Pick<BulkExport, "interval_hours">): boolean {
  return interval_hours !== null;
}

export type ExportsShown = { source_bulk_export_id?: string; spawned?: boolean };

export function useExports(shown: ExportsShown = {}) {
  return useInfiniteQuery({
    queryKey: ["exports", "list", shown],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      api.get<BulkExport[]>(`${exportsPath}${query({ limit: pageSize, offset: pageParam, ...shown })}`, {
        signal,
      }),
    getNextPageParam: (last, pages) => (last.length < pageSize ? undefined : pages.length * pageSize),
  });
}

export function useExport(id: string) {
  return useQuery({
    queryKey: ["exports", id],
    queryFn: ({ signal }) => api.get<BulkExport>(`${exportsPath}/${encodeURIComponent(id)}`, { signal }),
  });
}

export function useExportRuns(id: string, enabled: boolean) {
  return useQuery({
    queryKey: ["exports", id, "runs"],
    enabled,
    queryFn: ({ signal }) =>
      api.get<ExportRun[]>(`${exportsPath}/${encodeURIComponent(id)}/runs`, { signal }),
  });
}

type FilesPage = { files: ExportFile[]; next_cursor: string | null };

/** Those of one run, or of all. */
export function useExportFiles(id: string, runId: string | null) {
  return useInfiniteQuery({
    queryKey: ["exports", id, "files", runId],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const page = query({ limit: filesPageSize, cursor: pageParam, run_id: runId ?? undefined });
      return api.get<FilesPage>(`${exportsPath}/${encodeURIComponent(id)}/files${page}`, { signal });
    },
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
}

export function createFileLink(id: string, file: ExportFile): Promise<BulkExportFileLink> {
  return api.post(`${exportsPath}/${id}/runs/${file.run_id}/link`, { part: file.part });
}

export function useDestinations() {
  return useQuery({
    queryKey: ["destinations"],
    queryFn: ({ signal }) => api.get<Destination[]>(destinationsPath, { signal }),
  });
}

const mostProjects = 1_000;

/** To choose from, by name. */
export function useProjects() {
  return useQuery({
    queryKey: ["export-projects"],
    queryFn: async ({ signal }) => {
      const limit = 100;
      const all: Project[] = [];
      for (let offset = 0; offset < mostProjects; offset += limit) {
        const page = await api.get<Project[]>(`/api/v1/sessions${query({ limit, offset })}`, { signal });
        all.push(...page);
        if (page.length < limit) break;
      }
      return all.sort((one, other) => one.name.localeCompare(other.name));
    },
  });
}

/** Names of projects by id; one that is gone has none. */
export function useProjectNames(ids: readonly (string | null)[]): ReadonlyMap<string, string> {
  const known = [...new Set(ids.filter((id) => id !== null))];
  return useQueries({
    queries: known.map((id) => ({
      queryKey: ["export-project", id],
      staleTime: 60_000,
      retry: false,
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        api.get<Project>(`/api/v1/sessions/${encodeURIComponent(id)}`, { signal }),
    })),
    combine: (results) =>
      new Map(results.flatMap(({ data }) => (data ? [[data.id, data.name] as const] : []))),
  });
}

export type PreviewBody = Bodies["preview_bulk_export"];

/** How many runs it would hold; asked again after each change of the form. */
export function usePreview(body: PreviewBody | null) {
  return useQuery({
    queryKey: ["export-preview", body],
    enabled: body !== null,
    retry: false,
    staleTime: 30_000,
    queryFn: ({ signal }) => api.post<Preview>(`${exportsPath}/preview`, body, { signal }),
  });
}
