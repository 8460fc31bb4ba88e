// The advice on catalogs as a picture: for each server a bar for each setting, to the scale of the largest. A file that needs
// nothing else: no script, no font, no address.
import type { ServerAdvice, SettingCost } from '../../shared/catalog-advice.ts';
import { number, shorten } from '../figures.ts';
import { costText, reasonText, specLines } from './advice-lines.ts';
import type { AgentAdvice } from './agent-advice.ts';

const WIDTH = 860;
const LABEL_WIDTH = 130;
const BAR_WIDTH = 410;
const BAR_HEIGHT = 20;
const ROW_HEIGHT = 28;
const TITLE_HEIGHT = 34;
const MARGIN = 24;
const COLOURS = { best: '#1a7f37', other: '#8c959f', text: '#1f2328', faint: '#59636e', ground: '#ffffff' };

/** One picture of all servers. */
export function plotSvg(advised: readonly AgentAdvice[]): string {
  const blocks = advised.flatMap(({ agent, servers }) =>
    servers.flatMap((server) => (server.recommended ? [{ agent, server }] : [])),
  );
  const parts: string[] = [];
  let y = MARGIN + 22;
  for (const { agent, server } of blocks) {
    const rows = rowsOf(server);
    parts.push(block(agent, server, rows, y));
    y += TITLE_HEIGHT + rows.length * ROW_HEIGHT + MARGIN;
  }
  if (blocks.length === 0) parts.push(words(MARGIN, y + 20, 'There is no evidence to advise from.', COLOURS.text));
  const height = blocks.length === 0 ? y + 48 : y;
  const title = 'What tool definitions and discovery take, by setting';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="13">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="${COLOURS.ground}"/>`,
    words(MARGIN, MARGIN + 4, `${title}: tokens over all recorded turns. Green: recommended.`, COLOURS.faint),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** The picture in a page, with the figures as a table and what to set. */
export function plotPage(advised: readonly AgentAdvice[]): string {
  const rows = advised.flatMap(({ agent, servers }) => servers.flatMap((server) => tableRows(agent, server)));
  const head = ['agent', 'server', 'setting', 'tokens', 'model calls for discovery', '']
    .map((title) => `<th scope="col">${title}</th>`)
    .join('');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Advice on tool catalogs</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: ${COLOURS.text}; background: ${COLOURS.ground}; max-width: ${WIDTH + 20}px; margin: 2em auto; padding: 0 1em; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.2em 1em 0.2em 0; border-bottom: 1px solid #d1d9e0; }
pre { background: #f6f8fa; padding: 0.6em; overflow-x: auto; }
</style>
<main>
<h1>Advice on tool catalogs</h1>
${plotSvg(advised)}
<h2>Figures</h2>
<table><thead><tr>${head}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table>
<h2>What to set</h2>
${advised.flatMap(({ agent, servers }) => servers.flatMap((server) => verdict(agent, server))).join('\n')}
</main>
</html>
`;
}

interface Row {
  readonly label: string;
  readonly setting: SettingCost;
  readonly isBest: boolean;
}

/** The settings there are, and the present one where it is another. */
function rowsOf({ settings, now, recommended }: ServerAdvice): readonly Row[] {
  const all = now && !settings.some((one) => isSame(one, now)) ? [...settings, now] : settings;
  return all.map((setting) => ({
    label: now && isSame(setting, now) ? `${setting.mode} (now)` : setting.mode,
    setting,
    isBest: recommended !== null && isSame(setting, recommended),
  }));
}

function isSame(a: SettingCost, b: SettingCost): boolean {
  return a.mode === b.mode && a.preloadTools.join('\n') === b.preloadTools.join('\n');
}

function block(agent: string, server: ServerAdvice, rows: readonly Row[], top: number): string {
  const { toolCount, definitionTokens, evidence } = server;
  const most = Math.max(1, ...rows.map(({ setting }) => setting.tokens));
  const about = `${number(toolCount)} tools, ${number(definitionTokens)} tokens; ${number(evidence.calls)} calls in ${number(evidence.turns)} turns of ${shorten(agent, 40)}`;
  const title = `<text x="${MARGIN}" y="${top + 18}" fill="${COLOURS.text}"><tspan font-weight="600" font-size="15">${escaped(shorten(server.server, 40))}</tspan><tspan dx="10" fill="${COLOURS.faint}">${escaped(about)}</tspan></text>`;
  const bars = rows.map(({ label, setting, isBest }, index) => {
    const y = top + TITLE_HEIGHT + index * ROW_HEIGHT;
    const width = Math.max(1, Math.round((setting.tokens / most) * BAR_WIDTH));
    const x = MARGIN + LABEL_WIDTH;
    return [
      words(MARGIN, y + 15, label, COLOURS.text),
      `<rect x="${x}" y="${y}" width="${width}" height="${BAR_HEIGHT}" rx="2" fill="${isBest ? COLOURS.best : COLOURS.other}"/>`,
      words(x + width + 8, y + 15, `${costText(setting)}${isBest ? ' · recommended' : ''}`, COLOURS.text),
    ].join('\n');
  });
  return [title, ...bars].join('\n');
}

function tableRows(agent: string, server: ServerAdvice): readonly string[] {
  return rowsOf(server).map(({ label, setting, isBest }) => {
    const cells = [
      agent,
      server.server,
      label,
      number(setting.tokens),
      number(setting.roundTrips),
      isBest ? 'recommended' : '',
    ];
    return `<tr>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`;
  });
}

function verdict(agent: string, server: ServerAdvice): readonly string[] {
  const { recommended, evidence } = server;
  const name = escaped(`${server.server} (agent ${agent})`);
  if (!recommended) return [`<p>${name}: no turn names it, so there is nothing to advise from.</p>`];
  const lines = [`- name: ${server.server}`, ...specLines(recommended).map((line) => `  ${line}`)];
  const why = `${recommended.mode}, since ${reasonText(recommended.reason, server)}; from ${number(evidence.turns)} turns`;
  return [`<p>${name}: ${escaped(why)}.</p>`, `<pre>${escaped(lines.join('\n'))}</pre>`];
}

function words(x: number, y: number, text: string, colour: string): string {
  return `<text x="${x}" y="${y}" fill="${colour}">${escaped(text)}</text>`;
}

/** For XML and HTML; control characters, which XML has no form for, go. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/(?![\n\t])\p{Cc}/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
