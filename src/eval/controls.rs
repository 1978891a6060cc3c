//! Controls: a case that is known to pass and one that is known to fail. They are about the apparatus: the command
//! line, its credentials, the model, the reading of the stream and the assertions. When one of them comes out wrong,
//! nothing else that was measured can be believed.

use super::assertion::Assertion;
use super::spec::{Case, Expectation, Kind};
use super::work::Work;
use crate::harness::mock::script::{Script, Turn};
use crate::run::scenario::Scenario;

/// What the model is asked to say in both.
const SAID: &str = "clawgate-control-7341";
const NEVER_SAID: &str = "clawgate-control-8526";

/// A case that passes wherever anything works.
pub(super) fn known_pass() -> Case {
    control("control-pass", Kind::ControlPass, SAID)
}

/// A case that passes nowhere.
pub(super) fn known_fail() -> Case {
    control("control-fail", Kind::ControlFail, NEVER_SAID)
}

fn control(id: &str, kind: Kind, needle: &str) -> Case {
    let mut case = Case::new(id, kind, prompt());
    case.prompt_without = Some(prompt());
    case.assertions = vec![Assertion::contains("control", needle)];
    case.trials = Some(1);
    case
}

fn prompt() -> String {
    format!("This is a test of the connection. Answer with exactly this word and nothing else: {SAID}")
}

/// The turn that answers both, for scripted models.
pub(super) fn turn() -> Option<Turn> {
    let text = format!(
        "[scenario]\nname = \"control\"\n[[api.turns]]\nname = \"control\"\nwhen = {{ prompt = \"{SAID}\" }}\n\
         optional = true\ntext = \"{SAID}\"\n"
    );
    // The text is our own, and a test reads it.
    let script: Script = Scenario::parse("control.toml", &text).ok()?.script;
    script.turns.into_iter().next()
}

/// The names of the controls of a model that judges.
pub(super) const JUDGE_CONTROLS: [&str; 4] = ["judge-pass", "judge-fail", "judge-pair", "judge-pair-swapped"];

const TASK: &str =
    "This is a test of the judge (clawgate-control-5190): name the capital of France and add 19 and 23.";
const GOOD: &str = "The capital of France is Paris. 19 + 23 = 42.";
const BAD: &str = "I like turtles.";
const BETTER: &str = "Answer 1 does the task, and answer 2 does not.";

/// Work that is known, and statements of which it is known whether they hold of it: a judge that always agrees, always
/// refuses, or looks at the order alone comes out wrong in one of them.
pub(super) fn of_judge() -> Vec<Case> {
    let hold = ["The work names Paris.", "The work gives 42 as the sum.", "The work is in English."];
    let do_not =
        ["The work names London.", "The work gives 57 as the sum.", "The work is a poem of ten lines."];
    let controls: [(&str, Kind, &[&str]); 4] = [
        (JUDGE_CONTROLS[0], Kind::JudgePass, &hold),
        (JUDGE_CONTROLS[1], Kind::JudgeFail, &do_not),
        (JUDGE_CONTROLS[2], Kind::JudgePass, &[BETTER]),
        (JUDGE_CONTROLS[3], Kind::JudgeFail, &[BETTER]),
    ];
    let control = |(id, kind, statements): (&str, Kind, &[&str])| {
        let mut case = Case::new(id, kind, TASK);
        case.prompt_without = Some(TASK.into());
        case.trials = Some(1);
        let statement = |(index, text): (usize, &&str)| Expectation {
            id: format!("statement-{}", index + 1),
            text: (*text).to_owned(),
        };
        case.expectations = statements.iter().enumerate().map(statement).collect();
        case
    };
    controls.into_iter().map(control).collect()
}

/// The work that such a control is about.
pub(super) fn judged_work(case: &Case) -> Work {
    Work::canned(&match case.id.as_str() {
        "judge-pair" => format!("Answer 1:\n{GOOD}\n\nAnswer 2:\n{BAD}"),
        "judge-pair-swapped" => format!("Answer 1:\n{BAD}\n\nAnswer 2:\n{GOOD}"),
        _ => GOOD.to_owned(),
    })
}

/// The turn by which a scripted model answers such a control rightly: it is a script, and judges nothing by itself.
pub(super) fn judge_turn(case: &Case) -> Option<Turn> {
    let holds = case.kind == Kind::JudgePass;
    let judged: Vec<String> = case
        .expectations
        .iter()
        .map(|statement| {
            let score = u8::from(holds);
            format!(
                "{{ id = \"{}\", passed = {holds}, score = {score}, evidence = \"Paris\" }}",
                statement.id
            )
        })
        .collect();
    let text = format!(
        "[scenario]\nname = \"control\"\n[[api.turns]]\nname = \"judge-control\"\nwhen = {{ prompt = \"clawgate-control-5190\" }}\n\
         optional = true\ntool = {{ name = \"StructuredOutput\", input = {{ expectations = [{}] }} }}\n",
        judged.join(", ")
    );
    let script: Script = Scenario::parse("control.toml", &text).ok()?.script;
    script.turns.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_of_a_judge_has_a_scripted_answer_and_work_that_it_quotes() {
        let controls = of_judge();
        assert_eq!(controls.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), JUDGE_CONTROLS);
        for case in &controls {
            assert!(judge_turn(case).is_some() && judged_work(case).holds("Paris"), "{}", case.id);
        }
    }

    #[test]
    fn the_scripted_answer_passes_one_and_fails_the_other() {
        let turn = turn().unwrap();
        assert!(turn.optional);
        assert_eq!(turn.blocks, [crate::harness::mock::script::Block::Text(SAID.into())]);
        assert!(known_pass().prompt.contains(SAID) && !known_fail().prompt.contains(NEVER_SAID));
    }
}
