// The model in this process: SmolLM2-135M through node-llama-cpp, on one thread. The package is no dependency of this
// project, so that its form is written down here, as far as it is used.
import { pathToFileURL } from 'node:url';
import type { GrammarSchema } from './grammar.ts';

/** The tokens that a conversation and what is written after it may have together. The model was trained for as many. */
export const CONTEXT_TOKENS = 8192;

/** How a text is written. */
export interface WriteOptions {
  /** A schema that the text fits as JSON, or a grammar in the form of llama.cpp (GBNF). */
  readonly grammar: GrammarSchema | string;
  readonly maxTokens: number;
  readonly temperature: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Hears of each piece as it is written. */
  readonly onText?: (piece: string) => void;
}

/** A text that the model wrote. `isWhole` is false where it was cut at `maxTokens`. */
export interface Written {
  readonly text: string;
  readonly isWhole: boolean;
}

/** A model that goes on from a prompt. One text at a time: whoever calls waits for the one before. */
export interface LocalModel {
  readonly countTokens: (text: string) => number;
  readonly write: (prompt: string, options: WriteOptions) => Promise<Written>;
  readonly close: () => Promise<void>;
}

/** Loads the model. `modulePath` is the file that node-llama-cpp's package begins with. */
export async function loadModel(modulePath: string, weightsPath: string): Promise<LocalModel> {
  // The cast holds for the one version that is installed; another one would fail at the first call.
  const { getLlama, LlamaCompletion } = (await import(pathToFileURL(modulePath).href)) as LlamaModule;
  // With more than one thread it is many times slower on busy cores.
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: 'error', progressLogs: false });
  const model = await llama.loadModel({ modelPath: weightsPath });
  const context = await model.createContext({ contextSize: CONTEXT_TOKENS, threads: 1 });
  const completion = new LlamaCompletion({ contextSequence: context.getSequence() });
  const tokensOf = (text: string): readonly number[] => model.tokenize(text, true);
  return {
    countTokens: (text) => tokensOf(text).length,
    write: async (prompt, { grammar, onText, ...options }) => {
      const { response, metadata } = await completion.generateCompletionWithMeta(tokensOf(prompt), {
        ...options,
        grammar:
          typeof grammar === 'string'
            ? await llama.createGrammar({ grammar })
            : await llama.createGrammarForJsonSchema(grammar),
        repeatPenalty: typeof grammar === 'string' ? { penalty: 1.1, lastTokens: 64 } : false,
        ...(onText === undefined ? {} : { onTextChunk: onText }),
      });
      return { text: response, isWhole: metadata.stopReason !== 'maxTokens' };
    },
    close: () => llama.dispose(),
  };
}

/** What is used of node-llama-cpp 3.21. Source: its own declarations. */
interface LlamaModule {
  readonly getLlama: (options: {
    readonly gpu: false;
    readonly build: 'never';
    readonly maxThreads: number;
    readonly logLevel: 'error';
    readonly progressLogs: boolean;
  }) => Promise<Llama>;
  readonly LlamaCompletion: new (options: { readonly contextSequence: Opaque }) => {
    readonly generateCompletionWithMeta: (
      input: readonly number[],
      options: Omit<WriteOptions, 'grammar' | 'onText'> & {
        readonly grammar: Opaque;
        readonly repeatPenalty: false | { readonly penalty: number; readonly lastTokens: number };
        readonly onTextChunk?: (piece: string) => void;
      },
    ) => Promise<{ readonly response: string; readonly metadata: { readonly stopReason: string } }>;
  };
}

interface Llama {
  readonly loadModel: (options: { readonly modelPath: string }) => Promise<{
    readonly tokenize: (text: string, specialTokens: boolean) => readonly number[];
    readonly createContext: (options: {
      readonly contextSize: number;
      readonly threads: number;
    }) => Promise<{ readonly getSequence: () => Opaque }>;
  }>;
  readonly createGrammar: (options: { readonly grammar: string }) => Promise<Opaque>;
  readonly createGrammarForJsonSchema: (schema: GrammarSchema) => Promise<Opaque>;
  readonly dispose: () => Promise<void>;
}

/** An object of the package that is only handed back to it. */
type Opaque = object;
