// The check of `temporal.config.ts`.
import { describe, expect, test } from 'vitest';
import { checkConfig, defineConfig } from '../../shared/config.ts';
import own from '../../temporal.config.ts';

function pathsOf(value: unknown): readonly string[] {
  const outcome = checkConfig(value, 'temporal.config.ts');
  return 'faults' in outcome ? outcome.faults.map(({ path }) => path) : [];
}

describe('checkConfig', () => {
  test('an empty configuration, and that of this repository, are accepted', () => {
    expect(checkConfig({}, 'x')).toEqual({ config: {} });
    expect(checkConfig(own, 'x')).toEqual({ config: own });
  });

  test('a configuration with everything is accepted, its functions untouched', () => {
    const factory = () => {
      throw new Error('not called by a check');
    };
    const config = defineConfig({
      taskQueue: 'q',
      home: '/var/lib/longshore',
      temporal: { address: '127.0.0.1:7233', namespace: 'default' },
      mcpServers: { fs: { command: 'x' } },
      providers: { mine: factory },
      prices: { 'mine/model': { inputPerMillionUsd: 1, outputPerMillionUsd: 2, cachedInputPerMillionUsd: 0 } },
      localServers: [{ name: 'local', tools: [] }],
      server: { extraArgs: ['--log-level', 'warn'] },
    });
    const outcome = checkConfig(config, 'x');
    expect('config' in outcome && outcome.config.providers?.['mine']).toBe(factory);
  });

  test.each([
    [null, ''],
    [() => ({}), ''],
    [{ taskqueue: 'q' }, 'taskqueue'],
    [{ taskQueue: '' }, 'taskQueue'],
    [{ temporal: {} }, 'temporal.address'],
    [{ temporal: '127.0.0.1:7233' }, 'temporal'],
    [{ mcpServers: { fs: {} } }, 'mcpServers.fs'],
    [{ mcpServers: { fs: { command: 'x', argz: [] } } }, 'mcpServers.fs.argz'],
    [{ providers: { mine: 'x' } }, 'providers.mine'],
    [{ providers: { 'a/b': () => null } }, 'providers.a/b'],
    [{ prices: { model: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 } } }, 'prices.model'],
    [{ prices: { 'a/b': { inputPerMillionUsd: -1, outputPerMillionUsd: 1 } } }, 'prices.a/b.inputPerMillionUsd'],
    [{ prices: { 'a/b': { inputPerMillionUsd: 1 } } }, 'prices.a/b.outputPerMillionUsd'],
    [{ localServers: [{ tools: [] }] }, 'localServers.0.name'],
    [{ localServers: [{ name: 'x' }] }, 'localServers.0'],
    [{ localServers: [{ name: 'sandbox', tools: [] }] }, 'localServers.0.name'],
    [{ mcpServers: { x: { command: 'x' } }, localServers: [{ name: 'x', tools: [] }] }, 'localServers.0.name'],
    [
      {
        localServers: [
          { name: 'x', tools: [] },
          { name: 'x', tools: [] },
        ],
      },
      'localServers.1.name',
    ],
    [{ server: { extraArgs: '--x' } }, 'server.extraArgs'],
  ])('%j is refused', (value, path) => {
    expect(pathsOf(value)).toContain(path);
  });
});
