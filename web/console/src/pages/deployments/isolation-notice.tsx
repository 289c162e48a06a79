import { useQuery } from "@tanstack/react-query";
import { ShieldAlert } from "lucide-react";
import { api } from "../../api/client.ts";
import type { ServerInfo } from "../../api/wire.ts";

type Isolation = { kind: "sandbox" | "users" | "none" | "containers"; deploys: boolean };

/** Shown only where the walls around deployed code are missing; it does not change while a server runs. */
export function IsolationNotice() {
  const { data } = useQuery({
    queryKey: ["info"],
    queryFn: ({ signal }) => api.get<ServerInfo>("/info", { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isolation = data?.metadata.isolation as Isolation | undefined;
  if (isolation === undefined || (isolation.deploys && isolation.kind !== "none")) return null;
  return (
    <div className="notice bad" role="note">
      <ShieldAlert aria-hidden="true" size={18} />
      <span>
        {isolation.deploys ? (
          <>
            <b>Deployed code is not isolated.</b> Code of all workspaces runs as one user, the platform's own,
            and can read the platform's files and keys. Deploy only what you trust.
          </>
        ) : (
          <>
            <b>Nothing can be deployed here.</b> This machine offers no sandbox for deployed code.
          </>
        )}{" "}
        <code>treadle doctor</code> says why, and what to do about it.
      </span>
    </div>
  );
}
