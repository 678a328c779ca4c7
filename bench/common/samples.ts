/** What was measured, by id: several values each, of which the median is told. */
import { BUDGETS, type Metric, summarise, type Unit } from './metrics.ts';

export interface Samples {
  /** Of a figure in the budgets. */
  add(id: string, ...values: readonly number[]): void;
  /** Of a figure that is reported beside them. */
  report(id: string, unit: Unit, ...values: readonly number[]): void;
  metrics(): Readonly<Record<string, Metric>>;
}

export function createSamples(): Samples {
  const values = new Map<string, { readonly unit: Unit; readonly list: number[] }>();
  const put = (id: string, unit: Unit, added: readonly number[]): void => {
    const list = values.get(id)?.list ?? [];
    list.push(...added);
    values.set(id, { unit, list });
  };
  return {
    add(id, ...added) {
      const budget = BUDGETS.find((one) => one.id === id);
      if (!budget) throw new Error(`No budget is named ${id}`);
      put(id, budget.unit, added);
    },
    report: (id, unit, ...added) => put(id, unit, added),
    metrics: () => Object.fromEntries([...values].map(([id, { unit, list }]) => [id, summarise(list, unit)])),
  };
}
