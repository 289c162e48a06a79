import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { toast } from "../../../ui/index.ts";

/** After something was deployed: to where its first revision is followed. */
export function useOpenRevision() {
  const [, navigate] = useLocation();
  const client = useQueryClient();
  return (made: { name: string; deploymentId: string; revisionId: string | null }) => {
    void client.invalidateQueries({ queryKey: ["deployments"] });
    toast.good(`${made.name} is being built.`);
    const revision = made.revisionId === null ? "" : `/revisions/${made.revisionId}`;
    navigate(`/deployments/${made.deploymentId}${revision}`);
  };
}
