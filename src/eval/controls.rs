//! Controls: a case that is known to pass and one that is known to fail. They are about the apparatus: the command
//! line, its credentials, the model, the reading of the stream and the assertions. When one of them comes out wrong,
//! nothing else that was measured can be believed.

use super::assertion::Assertion;
use super::spec::{Case, Kind};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripted_answer_passes_one_and_fails_the_other() {
        let turn = turn().unwrap();
        assert!(turn.optional);
        assert_eq!(turn.blocks, [crate::harness::mock::script::Block::Text(SAID.into())]);
        assert!(known_pass().prompt.contains(SAID) && !known_fail().prompt.contains(NEVER_SAID));
    }
}
