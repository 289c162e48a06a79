import {
  asks,
  bodyOf,
  type GuardedRequest,
  type GuardedRow,
  queryOf,
  showsBody,
  type WrittenItem,
  withBody,
} from "../auth/route-rules.ts";

const itemIn =
  (holder: (request: GuardedRequest) => Record<string, unknown>) => (request: GuardedRequest) => {
    const { namespace, key } = holder(request);
    return { kind: "item", id: String(key), namespace: namespace as string[] } satisfies GuardedRow;
  };

/** Handlers get a namespace to search below as `namespace`, even if the body has another name for it. */
const below = (field: "namespace_prefix" | "prefix") => ({
  value: (request: GuardedRequest) => {
    const { [field]: namespace, ...body } = bodyOf(request);
    return { ...body, namespace: namespace ?? [] };
  },
  changed: (request: GuardedRequest, { namespace, ...value }: Record<string, unknown>) =>
    withBody(request, { ...value, [field]: namespace }),
});

export const guardPut = asks("store", "put", {
  ...showsBody,
  changed: withBody,
  row: itemIn(bodyOf),
  written: (request) => bodyOf(request) as WrittenItem,
});
export const guardGet = asks("store", "get", {
  value: (request) => ({ ...queryOf(request) }),
  changed: (request, value) => ({ ...request, query: value as never }),
  row: itemIn(queryOf),
});
export const guardDelete = asks("store", "delete", { ...showsBody, changed: withBody, row: itemIn(bodyOf) });
export const guardSearch = asks("store", "search", below("namespace_prefix"));
export const guardNamespaces = asks("store", "list_namespaces", below("prefix"));
