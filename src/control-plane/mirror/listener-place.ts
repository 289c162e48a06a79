import type { PlatformConnection } from "./platform-client.ts";

/** What a process needs to act for a listener. */
export type ListenerPlace = {
  connection: PlatformConnection;
  /** The platform's, and this place's own. */
  workspaceId: string;
  /** This process, also after a restart: whoever has its data folder. */
  holder: string;
  version: string;
  /** Begin anew where the deployments were in another database. */
  takeOver: boolean;
};
