//! The ways in which every case is tried: with the skill, without it, and as many more as an author wants to compare,
//! such as an older version of the skill, another model or another target.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::run::target::SkillSignal;

/// The name of the arm with the skill that is evaluated, on the target and the model of the evaluation.
pub(crate) const WITH_SKILL: &str = "with_skill";
/// The name of the same without the skill.
pub(crate) const WITHOUT_SKILL: &str = "without_skill";

/// One way in which every case is tried. Its name is that of its folder, and stands in every trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// `with_skill`, `without_skill`, or what the author calls it.
    pub name: String,
    /// Which skill is there.
    pub skill: ArmSkill,
    /// The model, when it is not that of the evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The target, when it is not that of the evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// How the target's stream tells that the skill was used.
    #[serde(default)]
    pub(crate) signal: SkillSignal,
    /// Whether only models may call its skill (`user-invocable: false`): no target lists such a skill.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_unlisted: bool,
}

/// Which skill an arm has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmSkill {
    /// The one that is evaluated.
    Evaluated,
    /// The one that is evaluated, with another description.
    Described(String),
    /// Another version of it, in this directory.
    At(PathBuf),
    /// None.
    None,
}

impl Arm {
    /// The arm that is evaluated, and that thresholds are about.
    pub fn with_skill() -> Self {
        Self {
            name: WITH_SKILL.into(),
            skill: ArmSkill::Evaluated,
            model: None,
            target: None,
            signal: SkillSignal::default(),
            is_unlisted: false,
        }
    }

    /// The same without the skill.
    pub fn without_skill() -> Self {
        Self { name: WITHOUT_SKILL.into(), skill: ArmSkill::None, ..Self::with_skill() }
    }

    /// Whether any version of the skill is there.
    pub fn has_skill(&self) -> bool {
        self.skill != ArmSkill::None
    }

    /// Whether it is run by other machinery than the evaluation's own, so that it needs controls of its own.
    pub fn is_elsewhere(&self) -> bool {
        self.model.is_some() || self.target.is_some()
    }

    /// As `--arm` writes it: `NAME`, and then `skill=DIR`, `skill=none`, `model=M` and `target=T`, with commas between.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let mut arm = Self { name: checked_name(name)?, ..Self::with_skill() };
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .filter(|(_, value)| !value.is_empty())
                .ok_or_else(|| format!("expected skill=…, model=… or target=…, found `{part}`"))?;
            match key {
                "skill" if value == "none" => arm.skill = ArmSkill::None,
                "skill" => arm.skill = ArmSkill::At(value.into()),
                "model" => arm.model = Some(value.to_owned()),
                "target" => arm.target = Some(value.to_owned()),
                _ => return Err(format!("expected skill=…, model=… or target=…, found `{part}`")),
            }
        }
        arm.checked()
    }

    /// An arm that differs in nothing would be compared with itself.
    pub(super) fn checked(self) -> Result<Self, String> {
        if self.skill == ArmSkill::Evaluated && !self.is_elsewhere() {
            return Err(format!(
                "arm `{}` is the same as {WITH_SKILL}: name a skill, a description, a model or a target",
                self.name
            ));
        }
        Ok(self)
    }
}

/// The name of a further arm. It becomes a folder's.
pub(super) fn checked_name(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > 60 || !name.chars().all(is_plain) || name.starts_with('.') {
        return Err(format!(
            "expected a name of letters, digits, `-`, `_` and `.` for an arm, found {name:?}"
        ));
    }
    if [WITH_SKILL, WITHOUT_SKILL, "with", "without"].contains(&name) {
        return Err(format!("`{name}` is there already; give the arm a name of its own"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_says_in_what_it_differs() {
        let arm = Arm::parse("old,skill=../v1,model=m,target=claude@2.1.197").unwrap();
        assert_eq!(arm.skill, ArmSkill::At("../v1".into()));
        assert_eq!((arm.model.as_deref(), arm.target.as_deref()), (Some("m"), Some("claude@2.1.197")));
        assert!(!Arm::parse("bare,skill=none").unwrap().has_skill());
        for (text, complaint) in [
            ("same", "is the same as with_skill"),
            ("with_skill,model=m", "is there already"),
            ("a/b,model=m", "expected a name"),
            ("x,modell=m", "found `modell=m`"),
            ("x,model=", "found `model=`"),
        ] {
            let found = Arm::parse(text).unwrap_err();
            assert!(found.contains(complaint), "{text}: {found}");
        }
    }
}
