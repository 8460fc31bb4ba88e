// Settings of a project whose files live in a bucket.
import { defineConfig } from 'longshore';

export default defineConfig({
  store: { type: 's3', bucket: 'agent-files', prefix: 'production', region: 'eu-central-1' },
});
