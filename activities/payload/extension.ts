// File extensions for media types: few, fixed, and none a surprise. What is not listed is told by its family.

const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'application/ld+json': 'json',
  'application/x-ndjson': 'jsonl',
  'application/jsonl': 'jsonl',
  'application/xml': 'xml',
  'application/yaml': 'yaml',
  'application/x-yaml': 'yaml',
  'application/toml': 'toml',
  'application/javascript': 'js',
  'application/typescript': 'ts',
  'application/sql': 'sql',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/gzip': 'gz',
  'application/x-gzip': 'gz',
  'application/x-tar': 'tar',
  'application/msword': 'doc',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'text/plain': 'txt',
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'text/markdown': 'md',
  'text/x-markdown': 'md',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/css': 'css',
  'text/xml': 'xml',
  'text/yaml': 'yaml',
  'text/x-yaml': 'yaml',
  'text/javascript': 'js',
  'text/x-python': 'py',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/jpg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'image/bmp': 'bmp',
  'image/tiff': 'tiff',
  'image/avif': 'avif',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/aac': 'aac',
  'audio/webm': 'weba',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
};

const LONGEST_MEDIA_TYPE = 100;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/;

/**
 * The extension for a media type, without a dot: `json`, `txt`, `png`, …; `bin` for what is neither known nor text.
 * Parameters (`; charset=utf-8`) and letter case do not count.
 */
export function extensionOf(mediaType: string): string {
  const essence = essenceOf(mediaType);
  if (Object.hasOwn(EXTENSIONS, essence)) return EXTENSIONS[essence] ?? 'bin';
  if (essence.endsWith('+json')) return 'json';
  if (essence.endsWith('+xml')) return 'xml';
  if (essence.endsWith('+yaml')) return 'yaml';
  if (essence.endsWith('+zip')) return 'zip';
  return essence.startsWith('text/') ? 'txt' : 'bin';
}

/**
 * A media type fit for records: lower case, without parameters, at most 100 characters. `undefined` for anything that
 * is not one: servers send empty strings, sentences and line breaks here.
 */
export function cleanMediaType(mediaType: unknown): string | undefined {
  if (typeof mediaType !== 'string') return undefined;
  const essence = essenceOf(mediaType.slice(0, 1_000));
  return essence.length <= LONGEST_MEDIA_TYPE && MEDIA_TYPE.test(essence) ? essence : undefined;
}

function essenceOf(mediaType: string): string {
  const end = mediaType.indexOf(';');
  return (end === -1 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
}
