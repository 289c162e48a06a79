/** The SQL template tag, so that stores need not import the driver's library themselves. */
export { type RawBuilder, sql as raw } from "kysely";
