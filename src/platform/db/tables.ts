/** Replaced by `npm run generate` from the migrated catalogue. */
// biome-ignore lint/suspicious/noExplicitAny: placeholder until generated
export type Tables = Record<string, any>;
