-- Costs are decimals: floating-point sums depend on their order. Rewrites the table once.
alter table trace_runs
  alter column total_cost type numeric using total_cost::numeric,
  alter column prompt_cost type numeric using prompt_cost::numeric,
  alter column completion_cost type numeric using completion_cost::numeric,
  alter column usage type numeric[] using usage::numeric[],
  -- What the runs right below have passed on: three counts of tokens, three costs, and of how many runs each cost is
  -- known. Null: nothing.
  add column below numeric[];

update trace_runs r set below = array[
    r.prompt_tokens - coalesce(r.usage[1], 0), r.completion_tokens - coalesce(r.usage[2], 0),
    r.total_tokens - coalesce(r.usage[3], 0),
    coalesce(r.prompt_cost, 0) - coalesce(r.usage[4], 0), coalesce(r.completion_cost, 0) - coalesce(r.usage[5], 0),
    coalesce(r.total_cost, 0) - coalesce(r.usage[6], 0),
    (r.prompt_cost is distinct from r.usage[4])::int, (r.completion_cost is distinct from r.usage[5])::int,
    (r.total_cost is distinct from r.usage[6])::int]
where not (r.run_type = 'llm' and r.usage is not null)
  and (r.total_tokens, r.prompt_tokens, r.completion_tokens) is distinct from
    (coalesce(r.usage[3], 0), coalesce(r.usage[1], 0), coalesce(r.usage[2], 0))
  or not (r.run_type = 'llm' and r.usage is not null) and r.total_cost is distinct from r.usage[6];

-- What waits for a run that is not there yet, in the same form.
alter table trace_parked_usage alter column usage type numeric[] using array[
  coalesce(usage[1], 0), coalesce(usage[2], 0), coalesce(usage[3], 0),
  coalesce(usage[4], 0), coalesce(usage[5], 0), coalesce(usage[6], 0),
  (usage[4] is not null)::int, (usage[5] is not null)::int, (usage[6] is not null)::int]::numeric[];
