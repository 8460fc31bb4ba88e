// The public entries, name by name: what users import does not come or go unnoticed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSourceFile, isExportDeclaration, isNamedExports, ScriptTarget } from 'typescript';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/source-files.ts';

/** Values first, then types. */
const ENTRIES: Readonly<Record<string, { readonly values: readonly string[]; readonly types: readonly string[] }>> = {
  'worker/index.ts': {
    values: [
      'LongshoreError',
      'LongshorePlugin',
      'createLocalStore',
      'createS3Store',
      'defineConfig',
      'defineLocalServer',
      'defineLocalTool',
    ],
    types: [
      'ApprovalEvent',
      'ApprovalEventType',
      'ApprovalHook',
      'DecidedCall',
      'ErrorRecord',
      'ErrorType',
      'FileStore',
      'LocalServer',
      'LocalTool',
      'LocalToolContext',
      'LocalToolOutput',
      'LongshoreConfig',
      'LongshoreHooks',
      'LongshorePluginOptions',
      'S3Store',
      'S3StoreOptions',
      'S3StoreSettings',
      'StoreSettings',
      'WaitingCall',
    ],
  },
  'workflows/index.ts': {
    values: [
      'longshoreAgentTurn',
      'longshoreRetentionSweep',
      'resolveApprovalUpdate',
      'runAgentTurn',
      'turnStateQuery',
    ],
    types: [
      'AgentSpec',
      'AgentTurnInput',
      'AgentTurnResult',
      'RetentionSweepInput',
      'RetentionSweepResult',
      'TurnEnd',
      'TurnState',
      'TurnStatus',
      'UserMessage',
      'UserPart',
    ],
  },
  'client/index.ts': {
    values: [
      'answer',
      'approve',
      'cancelTurn',
      'checkSpec',
      'deny',
      'describeTurn',
      'getApproval',
      'listApprovals',
      'listTurns',
      'parseSpecText',
      'readTurn',
      'resetTurn',
      'resolveOutcome',
      'retryCall',
      'startTurn',
      'turnInput',
      'watchTurn',
    ],
    types: [
      'AgentSpec',
      'Approval',
      'ApprovalDetails',
      'ApproveOptions',
      'DecideOptions',
      'Decision',
      'DecisionView',
      'DiscoveryView',
      'ListApprovalsOptions',
      'OutcomeChoice',
      'ResetOptions',
      'ResetTurn',
      'RetriedCall',
      'RetryCallOptions',
      'SpecCheck',
      'SpecFault',
      'StartTurnOptions',
      'StepView',
      'ToolCallView',
      'TurnListing',
      'TurnNews',
      'TurnRecord',
      'TurnView',
      'UserMessage',
      'UserPart',
      'WaitingView',
    ],
  },
  'testing/index.ts': {
    values: ['replayTurn', 'startScriptedModel'],
    types: [
      'ReplayOptions',
      'ScriptedAnswer',
      'ScriptedMessage',
      'ScriptedModel',
      'ScriptedModelServer',
      'ScriptedRequest',
      'ScriptedToolCall',
      'ScriptedUsage',
    ],
  },
};

/** The names in the export declarations of a file; a star would be none. */
function exportsOf(path: string): { readonly values: readonly string[]; readonly types: readonly string[] } {
  const source = createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ScriptTarget.Latest);
  const values: string[] = [];
  const types: string[] = [];
  for (const statement of source.statements) {
    if (!isExportDeclaration(statement) || !statement.exportClause || !isNamedExports(statement.exportClause)) {
      throw new Error(`${path} has a statement that is no list of named exports`);
    }
    for (const { name, isTypeOnly } of statement.exportClause.elements) {
      (statement.isTypeOnly || isTypeOnly ? types : values).push(name.text);
    }
  }
  return { values: values.sort(), types: types.sort() };
}

describe('an entry', () => {
  it.each(Object.entries(ENTRIES))('[STRUCT-5] exports exactly its list: %s', (path, expected) => {
    expect(exportsOf(path)).toEqual(expected);
  });

  it('[STRUCT-5] stands in package.json, and no other does', () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly exports: Readonly<Record<string, { readonly default: string }>>;
    };
    const targets = Object.entries(exports).map(([name, { default: target }]) => [name, target]);
    expect(targets).toEqual([
      ['.', './dist/worker/index.js'],
      ['./workflow', './dist/workflows/index.js'],
      ['./client', './dist/client/index.js'],
      ['./testing', './dist/testing/index.js'],
    ]);
  });
});
