// The advice on catalogs as people see it: lines and pictures, whatever servers and tools are called.
import { describe, expect, it } from 'vitest';
import type { AgentAdvice } from '../../cli/catalog/agent-advice.ts';
import { adviceLines } from '../../cli/catalog/advice-lines.ts';
import { plotPage, plotSvg } from '../../cli/catalog/plot.ts';
import { adviseOn, type AdvisedTurn } from '../../shared/catalog-advice.ts';

const HOSTILE = 'a<b>&"\u202e\u0007';
const basis = { builtInTokens: 900, discoveryTokens: 350 };

function advised(turns: number): AgentAdvice {
  const tools = Array.from({ length: 40 }, (_, index) => ({
    tool: `${HOSTILE}${index}`,
    definitionTokens: 150,
    findTokens: 300,
  }));
  const calls = [{ server: HOSTILE, tool: `${HOSTILE}7` }];
  const turn: AdvisedTurn = { servers: [HOSTILE], requests: [{ contextTokens: 900, calls }], finds: 0, trips: 0 };
  const servers = [{ server: HOSTILE, tools, now: { mode: 'preloaded', preloadTools: [] } } as const];
  const advice = adviseOn({ ...basis, servers, turns: Array.from({ length: turns }, () => turn) });
  return { agent: HOSTILE, ...basis, unknown: ['gone'], small: [], ...advice };
}

const plain = (_style: string, text: string): string => text;

describe('the advice for people', () => {
  it('[DISC-43] says what to set, why, from how much evidence, and of what nothing is known', () => {
    const text = adviceLines([advised(3)], plain).join('\n');
    expect(text).toMatch(
      /selective, since 1 of its 40 tools \(6,000 tokens\) was called: 3 calls in 3 of 3 turns; saves [\d,]+ tokens/,
    );
    expect(text).toContain('little evidence: 3 turns');
    expect(text).toMatch(/^ {4}preload_tools: \[".*7"\]$/m);
    expect(text).toContain('gone: no catalog of it is known');
    expect(adviceLines([advised(10)], plain).join('\n')).not.toContain('little evidence');
  });

  it('[DISC-43] says that there is nothing to advise from, without turns and without any that names a server', () => {
    expect(adviceLines([], plain).join('\n')).toContain('nothing to advise from');
    expect(adviceLines([advised(0)], plain).join('\n')).toContain(
      'no turn names it, so there is nothing to advise from',
    );
    expect(plotSvg([advised(0)])).toContain('There is no evidence to advise from.');
  });

  it('[DISC-43] shows hidden characters of names as their codes', () => {
    const text = adviceLines([advised(3)], plain).join('\n');
    expect(text).toContain(String.raw`\u202e`);
    for (const hidden of ['\u202e', '\u0007']) expect(text).not.toContain(hidden);
  });
});

describe('the plot', () => {
  it('[DISC-43] is one closed picture, with every name escaped and nothing to fetch', () => {
    const svg = plotSvg([advised(3)]);
    const tags = svg.replaceAll(/<(\w+)[^<>]*\/>/g, '').match(/<\/?\w+/g) ?? [];
    const names = (prefix: string) =>
      tags.filter((tag) => tag.startsWith('</') === (prefix === '</')).map((tag) => tag.slice(prefix.length));
    expect(names('<').sort()).toEqual(names('</').sort());
    expect(svg).toContain('a&lt;b&gt;&amp;&quot;');
    expect(svg.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|href|<script|url\(/);
    expect(svg.match(/recommended<\/text>/g)).toHaveLength(1);
  });

  it('[DISC-43] stands in a page with its figures as a table, and what to set', () => {
    const page = plotPage([advised(3)]);
    expect(page.match(/<tr>/g)).toHaveLength(4);
    expect(page).toContain('preload_tools: [');
    expect(page).not.toContain('<b>');
  });
});
