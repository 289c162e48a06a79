import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleStop, Moon, Play, RotateCw, Sunrise } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { Button, ConfirmDialog, Time, toast } from "../../ui/index.ts";
import { type Deployment, deploymentPath, isAtRest } from "./deployment-api.ts";

type Power = "stop" | "start" | "restart" | "sleep" | "wake";

const done: Record<Power, string> = {
  stop: "is stopped.",
  start: "is being started.",
  restart: "is being restarted. The current server serves until the new one is ready.",
  sleep: "sleeps as soon as it has nothing to do.",
  wake: "is waking up.",
};

function usePower(deployment: Deployment) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (power: Power) => api.post<Deployment>(`${deploymentPath(deployment.id)}/${power}`, {}),
    onSuccess: (_changed, power) => {
      void client.invalidateQueries({ queryKey: ["deployments"] });
      toast.good(`${deployment.name} ${done[power]}`);
    },
  });
}

/** Restart and stop of what serves, start of what is stopped. What never served has nothing to stop. */
export function PowerButtons({ deployment }: { deployment: Deployment }) {
  const power = usePower(deployment);
  const [asking, setAsking] = useState(false);
  const send = (name: Power) => power.mutate(name, { onError: (error) => toast.bad(error) });
  const busy = (name: Power) => power.isPending && power.variables === name;
  if (deployment.desired_state === "stopped")
    return (
      <Button icon={Play} busy={busy("start")} onClick={() => send("start")}>
        Start
      </Button>
    );
  if (deployment.active_revision_id === null) return null;
  return (
    <>
      {isAtRest(deployment) ? (
        <Button
          icon={Sunrise}
          busy={busy("wake") || deployment.health.state === "waking"}
          onClick={() => send("wake")}
        >
          Wake
        </Button>
      ) : (
        <>
          {deployment.sleep.allowed && (
            <Button icon={Moon} busy={busy("sleep")} onClick={() => send("sleep")}>
              Sleep
            </Button>
          )}
          <Button icon={RotateCw} busy={busy("restart")} onClick={() => send("restart")}>
            Restart
          </Button>
        </>
      )}
      <Button icon={CircleStop} onClick={() => setAsking(true)}>
        Stop…
      </Button>
      {asking && (
        <ConfirmDialog
          title="Stop this deployment?"
          action="Stop"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await power.mutateAsync("stop");
            setAsking(false);
          }}
        >
          The server finishes what it has begun and ends. Requests are answered with 503 until{" "}
          <strong>{deployment.display_name ?? deployment.name}</strong> is started again. Its threads, its
          address and its revisions stay.
        </ConfirmDialog>
      )}
    </>
  );
}

/** Its server does not run, and that is as it should be. */
export function AsleepNotice({ deployment }: { deployment: Deployment }) {
  const { health, sleep } = deployment;
  if (!isAtRest(deployment)) return null;
  return (
    <div className="notice" role="status">
      <Moon aria-hidden="true" size={18} />
      <div>
        <b>{health.state === "waking" ? "Waking up." : "Asleep. It wakes with the next request."}</b>
        {health.state === "waking" ? (
          <p>Its server is being started. Requests wait for it.</p>
        ) : (
          <p>
            Its server was stopped <Time at={health.since} />.
            {sleep.wakes_at !== null && (
              <>
                {" "}
                It wakes by itself <Time at={sleep.wakes_at} />, for a cron or a run that is due then.
              </>
            )}
          </p>
        )}
      </div>
    </div>
  );
}

export function StoppedNotice({ deployment }: { deployment: Deployment }) {
  const { desired_state: wanted, health } = deployment;
  if (wanted !== "stopped") return null;
  return (
    <div className="notice" role="status">
      <CircleStop aria-hidden="true" size={18} />
      <div>
        <b>
          This deployment was stopped <Time at={health.since} />.
        </b>
        <p>{health.message}</p>
      </div>
    </div>
  );
}
