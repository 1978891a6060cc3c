/** A turn of the script: a text, or the keys of `[[api.turns]]` in a scenario. */
export type Turn = string | Record<string, unknown>;
/** Turns; or the keys of `[api]` in a scenario; or the name or file of a scenario. */
export type Script = Turn[] | { turns: Turn[]; [key: string]: unknown } | string;
/** One object of the binary's JSON, as its schema under schemas/clawgate says. */
export type Json = Record<string, any>;

export interface ApiOptions {
  /** As `clawgate mock --help` lists them. */
  faults?: string[];
  seed?: number;
  /** Whether a request that nothing matched, one that the API would refuse, and a turn that nobody asked for fail; true. */
  strict?: boolean;
}

export interface Api {
  /** What a client is given as the address of the API. */
  readonly baseUrl: string;
  /**
   * The settings by which the clients of Anthropic, OpenAI and Gemini, and command lines such as Claude's and Gemini's, find
   * the API. The Codex CLI has a file of its own for it, `config.toml`.
   */
  readonly env: Readonly<
    Record<`${"ANTHROPIC" | "OPENAI" | "GOOGLE_GEMINI"}_BASE_URL` | `${"ANTHROPIC" | "OPENAI" | "GEMINI"}_API_KEY`, string>
  >;
  /** The requests so far, in their order; each has its body as `content`. Waits for answers under way. */
  requests(): Promise<Json[]>;
  /** How many requests came, and which turns nobody has asked for so far. */
  summary(): Promise<Json>;
  /** Ends the API and throws what did not fit; what was asked can still be read. */
  stop(): Promise<void>;
}

export interface RunOptions {
  target?: string;
  /** Where the recordings stay. */
  out?: string;
  args?: string[];
  /** Whether a case that is not as expected throws; true. */
  check?: boolean;
}

export interface JudgeOptions {
  stdout?: string | Uint8Array;
  /** A file or a recording, instead of stdout. */
  path?: string;
  exitCode?: number | null;
  stderr?: string | Uint8Array;
  contract?: string;
  /** Classes besides `ok` that are fine. */
  allow?: string[];
  /** Whether any other verdict and a broken must clause throw; true. */
  check?: boolean;
}

export type Scenario = { scenario: { name: string }; [key: string]: unknown };

/** clawgate could not do what it was asked. */
export class ClawgateError extends Error {}
/** clawgate found something: what was tested is not as it should be. */
export class ClawgateFailed extends Error {}
/** `CLAWGATE_BIN`, else the binary of this platform's package. */
export function binary(): string;
export function startApi(script: Script, options?: ApiOptions): Promise<Api>;
export function run(
  cases: string | Scenario | (string | Scenario)[],
  options?: RunOptions,
): Promise<{ exitCode: number; events: Json[]; cases: Json[] }>;
export function judge(options: JudgeOptions): Promise<Json>;
