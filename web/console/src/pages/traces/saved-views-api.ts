import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { SavedView } from "../../api/wire.ts";

export type { SavedView };
export type ViewFields = Pick<SavedView, "name" | "filter" | "columns" | "sort" | "options">;

const pathOf = (projectId: string) => `/api/v1/sessions/${projectId}/saved-views`;
const keyOf = (projectId: string) => ["saved-views", projectId];

export function useSavedViews(projectId: string) {
  return useQuery({
    queryKey: keyOf(projectId),
    queryFn: ({ signal }) => api.get<SavedView[]>(pathOf(projectId), { signal }),
  });
}

/** Creates, renames and deletes; the list is requested again after each. */
export function useViewChanges(projectId: string) {
  const client = useQueryClient();
  const onSuccess = () => client.invalidateQueries({ queryKey: keyOf(projectId) });
  const path = pathOf(projectId);
  return {
    create: useMutation({ mutationFn: (view: ViewFields) => api.post<SavedView>(path, view), onSuccess }),
    rename: useMutation({
      mutationFn: ({ id, name }: { id: string; name: string }) =>
        api.patch<SavedView>(`${path}/${id}`, { name }),
      onSuccess,
    }),
    remove: useMutation({ mutationFn: (id: string) => api.delete(`${path}/${id}`), onSuccess }),
  };
}
