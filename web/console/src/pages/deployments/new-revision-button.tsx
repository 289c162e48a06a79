import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { useLocation } from "wouter";
import { api } from "../../api/client.ts";
import { Button, toast } from "../../ui/index.ts";
import { deploymentPath, type Revision } from "./deployment-api.ts";

/** Builds and deploys what the source has now, and leads to the revision that is made. */
export function NewRevisionButton({
  deploymentId,
  look = "primary",
  children,
}: {
  deploymentId: string;
  look?: "primary" | "plain";
  children: string;
}) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const renew = useMutation({
    mutationFn: () => api.post<Revision>(`${deploymentPath(deploymentId)}/revisions`, {}),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ["deployments"] });
      toast.good(`Revision ${made.number} is being deployed.`);
      navigate(`/deployments/${deploymentId}/revisions/${made.id}`);
    },
    onError: (error) => toast.bad(error),
  });
  return (
    <Button look={look} icon={RefreshCw} busy={renew.isPending} onClick={() => renew.mutate()}>
      {children}
    </Button>
  );
}
