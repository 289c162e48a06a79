/** What can change while a reader looks at it. Each area has a mark by which it is noticed. */
export const changeTopics = [
  "deployments",
  "exports",
  "destinations",
  "traces",
  "connections",
  "settings",
  "threads",
] as const;
export type ChangeTopic = (typeof changeTopics)[number];

export type ChangeScope = { workspaceId: string; userId: string };

/** A text that differs whenever something a reader could see has changed; cheap enough to be asked for every second. */
export type ChangeMark = (scope: ChangeScope) => Promise<string>;

/** `perUser`: what one sees depends on who one is. */
export type ChangeTopics = Readonly<Record<ChangeTopic, { mark: ChangeMark; perUser?: boolean }>>;
