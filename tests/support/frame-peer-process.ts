import { Socket } from "node:net";
import { frameKinds } from "../../src/agent-server/graphs/python/frame.ts";
import { FramePeer } from "./frame-peer.ts";

/*
 * Takes the place of a Python process: loads nothing, and does what a call says. `run` lasts until it is cancelled.
 */
const peer = new FramePeer(new Socket({ fd: 3 }), ({ kind, call, meta }) => {
  if (kind === frameKinds.cancel) peer.send(frameKinds.end, call);
  if (kind !== frameKinds.call) return;
  switch (meta.method) {
    case "load":
      if (meta.fails) process.exit(7);
      peer.send(frameKinds.reply, call, { python: "3", versions: {}, graphs: [] });
      break;
    case "die":
      process.exit(9);
      break;
    case "drain":
      peer.send(frameKinds.reply, call);
      process.stdout.write("", () => process.exit(0));
      break;
  }
});
// The end of either socket is the end of the process.
const control = new Socket({ fd: 4 });
control.resume();
control.on("close", () => process.exit(0));
