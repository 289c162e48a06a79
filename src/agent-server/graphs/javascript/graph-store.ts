import type { ItemService } from "../../store/item-service.ts";
import type { GraphKit } from "./graph-kit.ts";
import {
  createGraphStoreClass,
  type GraphStore,
  type GraphStoreBackend,
  type GraphStoreClass,
} from "./graph-store-adapter.ts";

/** Gives graphs the long-term store of their workspace. */
export type StoreFactory = {
  forWorkspace(kit: GraphKit, workspaceId: string): GraphStore | undefined;
};

type KitStores = { Store: GraphStoreClass; byWorkspace: Map<string, GraphStore> };

const maxStores = 1_000;

/** One class per copy of the graph library, one light instance per workspace that is in use. */
export function createStoreFactory(items: ItemService): StoreFactory {
  const byKit = new WeakMap<GraphKit, KitStores>();
  return {
    forWorkspace(kit, workspaceId) {
      let stores = byKit.get(kit);
      if (!stores) {
        stores = { Store: createGraphStoreClass(kit), byWorkspace: new Map() };
        byKit.set(kit, stores);
      }
      const { Store, byWorkspace } = stores;
      const known = byWorkspace.get(workspaceId);
      if (known) return known;
      const store = new Store(backendOf(items, workspaceId));
      if (byWorkspace.size >= maxStores) {
        const [oldest] = byWorkspace.keys();
        byWorkspace.delete(oldest!);
      }
      byWorkspace.set(workspaceId, store);
      return store;
    },
  };
}

function backendOf(items: ItemService, workspaceId: string): GraphStoreBackend {
  return {
    getMany: (refs) => items.getMany(workspaceId, refs),
    write: (puts, removals) => items.write(workspaceId, puts, removals),
    search: (request) => items.search(workspaceId, request),
    listNamespaces: (request) => items.listNamespaces({ workspaceId, ...request }),
  };
}
