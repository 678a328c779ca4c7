/** What apps can name. A name that goes, or comes unnoticed, shows here first. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const ENTRIES = {
  sw: {
    load: () => import('../sw/index.ts'),
    names: ['httpSender', 'startOutbox', 'url'],
  },
  postgrest: { load: () => import('../sw/postgrest.ts'), names: ['postgrestFailures'] },
  client: { load: () => import('../client/index.ts'), names: ['connectOutbox'] },
  reactions: {
    load: () => import('../client/reactions.ts'),
    names: [
      'PAGE_REACTIONS',
      'SENTENCES',
      'applyToQueryCache',
      'callerHears',
      'overlayPending',
      'pageReactions',
      'reactionCase',
      'reactionsToUnknownId',
      'runReactions',
      'sentenceOf',
      'watchPending',
    ],
  },
  inspector: { load: () => import('../client/inspector/index.ts'), names: ['defineInspector'] },
  badge: { load: () => import('../client/app-badge.ts'), names: ['keepAppBadge'] },
  adopt: { load: () => import('../client/adopt.ts'), names: ['adoptWorkboxQueue'] },
  shared: {
    load: () => import('../shared/index.ts'),
    names: [
      'BLOCKED_REASONS',
      'BadInputError',
      'BodyTooLargeError',
      'CancelledError',
      'CommitUnknownError',
      'EncryptionUnavailableError',
      'EnqueueUnknownError',
      'HoldfastError',
      'IdbBlockedError',
      'IdentityConflictError',
      'InvalidBodyError',
      'InvalidCommandError',
      'InvalidOptionError',
      'NoHostError',
      'NoSuchTargetError',
      'OutboxContentionError',
      'OutboxUnavailableError',
      'OvertakenError',
      'ProtocolError',
      'QuotaError',
      'RefusedError',
      'RowsRemainError',
      'SignedOutError',
      'StoreTimeoutError',
      'TargetDeletedError',
      'TryAgainError',
      'UnencodableBodyError',
      'UnknownCallError',
      'UnknownFamilyError',
      'UnknownRowError',
      'WrongStateError',
      'blockedReason',
      'defineOutbox',
      'document',
      'record',
      'wireKindOf',
    ],
  },
  encryption: {
    load: () => import('../sw/encryption/index.ts'),
    names: ['canKeepKeys', 'encryptBodies'],
  },
  testing: {
    load: () => import('../sw/testing/index.ts'),
    names: [
      'FAULT_GROUPS',
      'createManualClock',
      'createMemoryLedger',
      'createScriptedServer',
      'createTestEngine',
      'createTestWorld',
      'explainSeed',
      'simulate',
      'testCommand',
      'testEncryption',
    ],
  },
} as const satisfies Record<
  string,
  { readonly load: () => Promise<object>; readonly names: readonly string[] }
>;

describe('the public API', () => {
  it.each(Object.entries(ENTRIES))('of holdfast/%s is these names', async (_entry, { load, names }) => {
    // Workbox looks for it when it is loaded.
    vi.stubGlobal('self', globalThis);
    expect(Object.keys(await load()).sort()).toEqual([...names].sort());
    vi.unstubAllGlobals();
  });

  it('has an entry in the package for each of them, with its declarations', () => {
    const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
      readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
    };
    expect(Object.keys(manifest.exports).sort()).toEqual(
      Object.keys(ENTRIES)
        .map((entry) => `./${entry}`)
        .sort(),
    );
    for (const { types, default: code } of Object.values(manifest.exports)) {
      expect(types).toMatch(/^\.\/dist\/types\/.+\.d\.ts$/);
      expect(code).toMatch(/^\.\/dist\/.+\/index\.js$/);
    }
  });
});
