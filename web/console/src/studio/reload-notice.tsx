import { useQuery } from "@tanstack/react-query";
import { CircleAlert } from "lucide-react";
import { api } from "../api/client.ts";

type Reload = { watched: boolean; failure: { message: string; changed: string[] } | null };

const askAgainMs = 2_000;

/** Beside `treadle dev`: the files have changed, and what is served is older than they are. */
export function ReloadNotice() {
  const { data } = useQuery({
    queryKey: ["studio", "reload"],
    queryFn: ({ signal }) => api.get<Reload>("/studio/reload", { signal }),
    // Only while somebody looks, and only where files are watched.
    refetchInterval: ({ state }) => (state.data?.watched === false ? false : askAgainMs),
    staleTime: 0,
  });
  if (!data?.failure) return null;
  const { message, changed } = data.failure;
  return (
    <div className="notice bad reload-notice" role="alert">
      <CircleAlert aria-hidden="true" size={18} />
      <div>
        <b>{changed.length === 0 ? "The project" : namesOf(changed)} could not be loaded</b>
        <pre>{message}</pre>
        <p>The previous version keeps serving. Fix it and save: it is loaded again.</p>
      </div>
    </div>
  );
}

function namesOf(files: readonly string[]): string {
  return files.length > 3 ? `${files.slice(0, 3).join(", ")} and ${files.length - 3} more` : files.join(", ");
}
