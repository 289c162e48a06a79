import { useQuery } from "@tanstack/react-query";
import { api, query } from "../../api/client.ts";
import type { Alert, AlertEvent, Answers, TraceProject } from "../../api/wire.ts";

export type { Alert, AlertEvent } from "../../api/wire.ts";

export const alertsPath = "/v2/alerts";
export const alertPath = (id: string) => `${alertsPath}/${encodeURIComponent(id)}`;

/** Alerts change by the clock, once a minute, and the change feed does not report it. */
const again = { refetchInterval: 10_000 };

export function useAlerts() {
  return useQuery({
    ...again,
    queryKey: ["alerts", "list"],
    queryFn: async ({ signal }) => (await api.get<Answers["list_alerts"]>(alertsPath, { signal })).resources,
  });
}

export function useAlert(id: string) {
  return useQuery({
    ...again,
    queryKey: ["alerts", id],
    queryFn: ({ signal }) => api.get<Alert>(alertPath(id), { signal }),
  });
}

export function useHistory(id: string) {
  return useQuery({
    ...again,
    queryKey: ["alerts", id, "history"],
    queryFn: async ({ signal }): Promise<AlertEvent[]> =>
      (
        await api.get<Answers["list_events_of_alert"]>(`${alertPath(id)}/history${query({ limit: 50 })}`, {
          signal,
        })
      ).resources,
  });
}

export type Subject = { id: string; name: string };
/** A deployment, with the project its runs are traced in. */
export type DeploymentSubject = Subject & { projectId: string | null };

/** What an alert can watch besides everything, by name. */
export function useSubjects() {
  return useQuery({
    queryKey: ["alert-subjects"],
    queryFn: async ({ signal }): Promise<{ deployment: DeploymentSubject[]; project: Subject[] }> => {
      const [{ resources }, projects] = await Promise.all([
        api.get<Answers["list_deployments"]>(`/v2/deployments${query({ limit: 100 })}`, { signal }),
        api.get<TraceProject[]>(`/api/v1/sessions${query({ limit: 100 })}`, { signal }),
      ]);
      const byName = <One extends Subject>(list: readonly One[]) =>
        [...list].sort((one, other) => one.name.localeCompare(other.name));
      return {
        deployment: byName(
          resources.map(({ id, name, tracer_session_id }) => ({ id, name, projectId: tracer_session_id })),
        ),
        project: byName(
          projects
            .filter(({ reference_dataset_id: dataset }) => dataset === null)
            .map(({ id, name }) => ({ id, name })),
        ),
      };
    },
  });
}
