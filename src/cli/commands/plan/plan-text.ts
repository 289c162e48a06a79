/** One line for people. */
export function planText(found: {
  organization_id: string;
  plan: string;
  edition: string;
  features: { bulk_export: boolean };
}): string {
  const exports = found.features.bulk_export ? "with bulk exports" : "without bulk exports";
  return `Organization ${found.organization_id}: plan ${found.plan}, ${exports} (edition ${found.edition}).`;
}
