// The catalogue of errors against its page, and the rules that every error follows.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_KINDS, LongshoreError, messageOf, type ErrorType } from '../../shared/errors.ts';
import { ROOT, sourceFiles } from '../support/source-files.ts';

const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, type = '', retryable = '', exitCode = '', when = '', mend = '']) => ({
    type: type.replaceAll('`', ''),
    retryable,
    exitCode,
    when,
    mend,
  }));
// The keys of the catalogue are its types.
const types = Object.keys(ERROR_KINDS) as ErrorType[];

describe('the page of errors', () => {
  it('[STRUCT-6] has exactly one row for every type, and no other', () => {
    expect(rows.map((row) => row.type).sort()).toEqual([...types].sort());
  });

  it.each(types)('[STRUCT-6] says of %s what the code does', (type) => {
    const row = rows.find((one) => one.type === type);
    const { retryable, exitCode } = ERROR_KINDS[type];
    expect(row).toMatchObject({ retryable: retryable ? 'yes' : 'no', exitCode: String(exitCode) });
    expect(row?.when).not.toBe('');
    expect(row?.mend).not.toBe('');
  });

  it('[STRUCT-6] has no type that no code raises', () => {
    const code = sourceFiles()
      .filter((file) => !file.path.startsWith('test/') && file.path !== 'shared/errors.ts')
      .map((file) => file.text)
      .join('\n');
    expect(types.filter((type) => !code.includes(`'${type}'`))).toEqual([]);
  });
});

describe('an error', () => {
  it('[STRUCT-7] becomes data with type, message and mend, and nothing else', () => {
    const error = new LongshoreError('StoreFull', 'The disk is full', 'Free some space.', {
      cause: new Error('ENOSPC'),
    });
    expect(error.toRecord()).toEqual({ type: 'StoreFull', message: 'The disk is full', mend: 'Free some space.' });
    expect([error.retryable, error.exitCode]).toEqual([true, 3]);
  });

  it.each(types)('[STRUCT-7] of type %s knows whether it may be retried, and its exit code', (type) => {
    const error = new LongshoreError(type, 'what', 'mend');
    expect({ retryable: error.retryable, exitCode: error.exitCode }).toEqual(ERROR_KINDS[type]);
  });

  it.each([
    [new Error('plain'), 'plain'],
    [new TypeError(''), 'TypeError'],
    ['text', 'text'],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
  ])('[STRUCT-7] has a message whatever was thrown: %s', (thrown, message) => {
    expect(messageOf(thrown)).toBe(message);
  });
});
