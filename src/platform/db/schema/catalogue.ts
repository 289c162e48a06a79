import type { Database } from "../database.ts";

export type CatalogueColumn = {
  name: string;
  /** As SQL writes it, for example `character varying(20)` or `text[]`. */
  type: string;
  /** The type's own name, of the elements for an array: `varchar`, `text`. */
  baseType: string;
  isArray: boolean;
  enumLabels: string[] | null;
  notNull: boolean;
  default: string | null;
  identity: "" | "a" | "d";
  /** The default is a stored computation. */
  computed: boolean;
  collation: string | null;
  storage: string | null;
};

export type CatalogueTable = {
  name: string;
  columns: CatalogueColumn[];
  constraints: { name: string; definition: string }[];
  indexes: string[];
  triggers: string[];
  options: string[];
  partitionKey: string | null;
  partitionOf: { parent: string; bound: string } | null;
};

export type Catalogue = {
  enums: { name: string; labels: string[] }[];
  sequences: string[];
  functions: string[];
  tables: CatalogueTable[];
  views: { name: string; definition: string }[];
};

/** What the schema `public` holds, read from the system's tables, in an order that never depends on them. */
export async function readCatalogue(database: Database): Promise<Catalogue> {
  const all = <Row extends object>(text: string) => database.query<Row>({ name: "", text }, []);
  const [enums, sequences, functions, tables, views] = await Promise.all([
    all<Catalogue["enums"][number]>(enumsQuery),
    all<{ name: string }>(sequencesQuery),
    all<{ definition: string }>(functionsQuery),
    all<CatalogueTable>(tablesQuery),
    all<Catalogue["views"][number]>(viewsQuery),
  ]);
  return {
    enums,
    sequences: sequences.map((row) => row.name),
    functions: functions.map((row) => row.definition),
    tables,
    views,
  };
}

const inPublic = "= 'public'::regnamespace";
const byExtension = (catalogue: string, oid: string) =>
  `exists (select from pg_depend where classid = '${catalogue}'::regclass and objid = ${oid} and deptype = 'e')`;

const enumsQuery = `
  select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder) as labels
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace ${inPublic} and not ${byExtension("pg_type", "t.oid")}
  group by t.typname order by t.typname collate "C"`;

// Those of serial and identity columns come with their column.
const sequencesQuery = `
  select c.relname as name from pg_class c
  where c.relkind = 'S' and c.relnamespace ${inPublic} and not exists (
    select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i', 'e'))
  order by c.relname collate "C"`;

const functionsQuery = `
  select pg_get_functiondef(p.oid) as definition from pg_proc p
  where p.pronamespace ${inPublic} and p.prokind in ('f', 'p') and not ${byExtension("pg_proc", "p.oid")}
  order by p.proname collate "C", pg_get_function_identity_arguments(p.oid) collate "C"`;

const viewsQuery = `
  select c.relname as name, pg_get_viewdef(c.oid) as definition from pg_class c
  where c.relkind = 'v' and c.relnamespace ${inPublic} and not ${byExtension("pg_class", "c.oid")}
  order by c.relname collate "C"`;

const columnsOf = `
  select coalesce(json_agg(json_build_object(
    'name', a.attname,
    'type', format_type(a.atttypid, a.atttypmod),
    'baseType', base.typname,
    'isArray', t.typcategory = 'A',
    'enumLabels', (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = base.oid),
    'notNull', a.attnotnull,
    'default', pg_get_expr(d.adbin, d.adrelid),
    'identity', a.attidentity,
    'computed', a.attgenerated <> '',
    'collation', case when a.attcollation <> t.typcollation then
      (select l.collname from pg_collation l where l.oid = a.attcollation) end,
    'storage', case when a.attstorage <> t.typstorage then
      case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main' else 'extended' end end
  ) order by a.attnum), '[]')
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  join pg_type base on base.oid = case when t.typcategory = 'A' then t.typelem else t.oid end
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped`;

// Newer servers list NOT NULL as constraints ('n'); the columns already show it on every version.
const constraintsOf = `
  select coalesce(json_agg(json_build_object('name', k.conname, 'definition', pg_get_constraintdef(k.oid))
    order by position(k.contype::text in 'pucxf'), k.conname collate "C"), '[]')
  from pg_constraint k
  where k.conrelid = c.oid and k.contype in ('p', 'u', 'c', 'x', 'f') and k.conparentid = 0 and k.conislocal`;

const indexesOf = `
  select coalesce(json_agg(pg_get_indexdef(i.indexrelid) order by r.relname collate "C"), '[]')
  from pg_index i join pg_class r on r.oid = i.indexrelid
  where i.indrelid = c.oid and not r.relispartition
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))`;

const triggersOf = `
  select coalesce(json_agg(pg_get_triggerdef(g.oid) order by g.tgname collate "C"), '[]')
  from pg_trigger g where g.tgrelid = c.oid and not g.tgisinternal and g.tgparentid = 0`;

const tablesQuery = `
  select c.relname as name,
    (${columnsOf}) as columns,
    (${constraintsOf}) as constraints,
    (${indexesOf}) as indexes,
    (${triggersOf}) as triggers,
    (select coalesce(json_agg(o order by o collate "C"), '[]') from unnest(c.reloptions) o) as options,
    case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end as "partitionKey",
    case when c.relispartition then json_build_object(
      'parent', (select p.relname from pg_inherits h join pg_class p on p.oid = h.inhparent where h.inhrelid = c.oid),
      'bound', pg_get_expr(c.relpartbound, c.oid)) end as "partitionOf"
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace ${inPublic} and not ${byExtension("pg_class", "c.oid")}
  order by c.relispartition, c.relname collate "C"`;
