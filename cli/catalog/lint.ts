// What `catalog lint` prints: what makes recorded catalogs hard to use for a model, or needlessly dear.
import { lintCatalog, type LintFinding } from '../../shared/catalog-lint.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { CommandContext } from '../command.ts';
import { errorLines } from '../failure.ts';
import { counted, number } from '../figures.ts';
import type { Output } from '../output.ts';
import { visible } from '../waiting-lines.ts';
import { loadVersion, recordedCatalogs, versionDocument, type CatalogOptions } from './versions.ts';

const NAMES_SHOWN = 6;
const EXIT_FINDINGS = 1;

/** Prints the findings; exit code 1 with any, and where a record could not be read or a server not be asked. */
export async function lintCatalogs(
  server: string | undefined,
  options: CatalogOptions,
  context: CommandContext,
): Promise<number> {
  const { output } = context;
  const { store, records, isPartial } = await recordedCatalogs(context, options, server);
  const all = await Promise.all(
    records.map(async (record) => {
      const version = loadVersion(store, record);
      return server === undefined ? version.catch((error: unknown) => tellLost(error, output)) : version;
    }),
  );
  const loaded = all.filter((one) => one !== null);
  const tools = loaded.flatMap((one) => one.tools);
  const findings = lintCatalog(tools);
  if (output.isJson) {
    const servers = loaded.map((one) => ({ server: one.server, version: versionDocument(one.version) }));
    output.json({ servers, tools: tools.length, findings });
  } else {
    for (const finding of findings) {
      output.line(`${output.paint('yellow', finding.rule)}  ${namesOf(finding)} ${finding.message}`);
    }
    const count = findings.length === 0 ? 'Nothing was found' : counted(findings.length, 'finding');
    output.line(`${count} in ${counted(tools.length, 'tool')} of ${counted(loaded.length, 'server')}.`);
  }
  return findings.length > 0 || isPartial || loaded.length < all.length ? EXIT_FINDINGS : 0;
}

/** Of many servers, one whose catalog is lost is told, and the others are checked. */
function tellLost(error: unknown, output: Output): null {
  if (!(error instanceof LongshoreError)) throw error;
  for (const line of errorLines(error.toRecord())) output.note(line);
  return null;
}

function namesOf({ tools }: LintFinding): string {
  const names = tools.slice(0, NAMES_SHOWN).map(({ server, tool }) => visible(`${server}.${tool}`));
  const more = tools.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${number(more)} more` : ''}`;
}
