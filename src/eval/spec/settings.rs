//! How trials are run and judged, and what has to be reached.

use serde::{Deserialize, Serialize};

/// How trials are run. Everything that changes the outcome is said explicitly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct RunSettings {
    /// Trials of each case.
    pub trials: u32,
    /// The model; the target's own without it.
    pub model: Option<String>,
    /// What is allowed without asking; everything without it, unless tools are allowed by name.
    pub permission_mode: Option<String>,
    /// Tools that are allowed besides.
    pub allowed_tools: Vec<String>,
    /// Tools that are taken away.
    pub disallowed_tools: Vec<String>,
    /// The most turns of a trial.
    pub max_turns: u64,
    /// The most that a trial may cost.
    pub max_cost_usd: f64,
    /// The most that a trial may take.
    pub timeout_seconds: u64,
    pub args: Vec<String>,
    /// Further settings in the environment.
    pub env: Vec<(String, String)>,
    /// How often a trial that could not be measured is tried again.
    pub retries: u32,
    /// How long to wait before that, doubled each time, when nobody says when a limit ends.
    pub backoff_ms: u64,
    /// Whether a trial with the skill passes only if the skill was used.
    pub require_use: bool,
    /// Whether guesses, such as a question at the end, are verdicts.
    pub heuristics: bool,
    /// Whether background work is done in the foreground.
    pub sync_tasks: bool,
    /// A system prompt to append.
    pub system_prompt: Option<String>,
    /// Whether the settings of the project that the file is in hold in the room too.
    pub project_settings: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            trials: 3,
            model: None,
            permission_mode: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            max_turns: 30,
            max_cost_usd: 1.0,
            timeout_seconds: 300,
            args: Vec::new(),
            env: Vec::new(),
            retries: 2,
            backoff_ms: 1000,
            require_use: true,
            heuristics: true,
            sync_tasks: false,
            system_prompt: None,
            project_settings: false,
        }
    }
}

/// What has to be reached. Where a file does not say otherwise, every trial has to pass and every prompt to trigger
/// the skill, or not, as it should; the rest is not asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Of each case with the skill.
    pub min_pass_rate: f64,
    /// The part of the trials that has to be measured.
    pub min_measured: f64,
    /// By how much the skill has to be better than none.
    pub min_delta: Option<f64>,
    /// Of the blind comparisons with trials without the skill that were decided, the part that the skill wins.
    #[serde(default)]
    pub min_preference: Option<f64>,
    /// Of the prompts that used the skill, the part that should.
    pub min_precision: f64,
    /// Of the prompts that should use the skill, the part that did.
    pub min_recall: f64,
    /// The median cost of a trial.
    pub max_cost_usd: Option<f64>,
    /// The median time of a trial.
    pub max_seconds: Option<f64>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            min_pass_rate: 1.0,
            min_measured: 0.5,
            min_delta: None,
            min_preference: None,
            min_precision: 1.0,
            min_recall: 1.0,
            max_cost_usd: None,
            max_seconds: None,
        }
    }
}

/// How expectations are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeSettings {
    /// The model that judges; that of the trials without it.
    pub model: Option<String>,
    /// The part of a trial's expectations that has to hold.
    pub min_pass_rate: f64,
    /// The least mean of the scores.
    pub min_mean_score: f64,
    /// Whether it also compares the answers of the arms, blindly.
    pub blind: bool,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self { model: None, min_pass_rate: 1.0, min_mean_score: 0.0, blind: false }
    }
}
