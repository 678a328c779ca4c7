/** What encrypting bodies costs (W63): the same page and worker code with and without it, in rounds that alternate. */
import type { BenchWorld } from './bench-world.ts';
import { median } from './common/metrics.ts';
import type { Samples } from './common/samples.ts';
import { fill } from './measure-drains.ts';

export interface EncryptionPlan {
  readonly rounds: number;
  readonly rows: number;
}

export async function measureEncryption(
  world: BenchWorld,
  { rounds, rows }: EncryptionPlan,
  samples: Samples,
): Promise<void> {
  const plain = await world.openOutbox('plain');
  const encrypted = await world.openOutbox('encrypted', { isEncrypted: true });
  const each = [plain, encrypted] as const;
  for (const outbox of each) await outbox.call('enqueueEach', 30);
  for (let round = 0; round < rounds; round++) {
    const saved: number[] = [];
    const sent: number[] = [];
    for (const outbox of each) {
      saved.push(median(await outbox.call('enqueueEach', 100)));
      await fill(outbox, rows);
      sent.push(await outbox.call('drain'));
      await outbox.call('pause');
    }
    const [plainSaved = Number.NaN, encryptedSaved = Number.NaN] = saved;
    const [plainSent = Number.NaN, encryptedSent = Number.NaN] = sent;
    samples.report('encryption_enqueue_p50_vs_plain', 'ratio', encryptedSaved / plainSaved);
    samples.report('encryption_drain_vs_plain', 'ratio', encryptedSent / plainSent);
    samples.report('ms_enqueue_p50_encrypted', 'ms', encryptedSaved);
    samples.report('ms_drain_encrypted', 'ms', encryptedSent);
  }
  for (const { page } of each) await page.close();
}
