/** What the server takes and answers, generated from its routes: nothing of it is written here by hand. */
export type * from "../../../../openapi/wire.d.ts";
