//! What our own benchmarks, fuzzing and tests reach that is no API: it changes without notice.

#[cfg(feature = "cli")]
pub use crate::cli::{Allocator, main};

#[cfg(feature = "cli")]
pub mod config {
    pub use crate::config::Config;
}
pub mod document {
    pub use crate::document::FileError;
}
#[cfg(feature = "cli")]
pub mod drift {
    pub use crate::drift::{CaseSet, ComparePolicy, diff};
}
#[cfg(feature = "cli")]
pub mod eval {
    pub use crate::eval::extraction;
    pub use crate::eval::{
        Baseline, Clock, Evaluation, ExecuteError, Executor, Iteration, Options, Report, Request, Stamp,
        Store, SystemClock, plan, regrade,
    };
    pub mod assertion {
        pub use crate::eval::assertion::TextAssertions;
    }
    pub mod skill {
        pub use crate::eval::skill::{Skill, lint};
    }
    pub mod spec {
        pub use crate::eval::spec::{Kind, Section, Spec};
    }
    pub mod statistics {
        pub use crate::eval::statistics::{Rate, Share};
    }
}
pub mod events {
    pub use crate::events::{Accepted, Limits, LogChecker, Observer, Profile, Rule, Violation};
}
#[cfg(feature = "testing")]
pub mod golden {
    pub use crate::golden::{Class, StoreError, Volatile};
}
#[cfg(feature = "testing")]
pub mod harness {
    #[cfg(feature = "cli")]
    pub mod claws {
        pub use crate::harness::claws::PROBES;
    }
    pub mod mock {
        pub use crate::harness::mock::{Fault, Journal, MockApi, Options, Script, StartError};
        pub mod fault {
            pub use crate::harness::mock::fault::{Fault, FaultError, catalogue};
        }
        pub mod journal {
            pub use crate::harness::mock::journal::{JournalEntry, Kind, Outcome};
        }
        pub mod script {
            pub use crate::harness::mock::script::{Block, Turn};
        }
    }
}
#[cfg(feature = "testing")]
pub mod reference {
    pub use crate::reference::MISBEHAVIOURS;
}
#[cfg(feature = "cli")]
pub mod report {
    pub use crate::report::merge;
    pub use crate::report::{
        Context, Kind, Options, ReportRequest, Sinks, Terminal, Verbosity, judgement_json,
    };
}
pub mod schema {
    pub use crate::schema::{
        Audit, End, EventJudge, Fixtures, Harm, OUTCOME_CLASSES, Run, Sample, bundle, judge_log,
        judge_output, outcome_rows, row_reason, rule_names,
    };
}
#[cfg(feature = "testing")]
pub mod run {
    pub use crate::run::{Event, Stop};
    pub mod scenario {
        pub use crate::run::scenario::{Scenario, library};
    }
}
/// Files of the user that no part of the API reads: whether they can be used.
#[cfg(feature = "cli")]
pub mod user_files {
    use crate::document::FileError;

    pub fn known_failures(text: &str) -> Result<(), FileError> {
        let any = |_: &str| true;
        crate::run::KnownFailures::parse("known-failures.toml", text, "2026-01-01".into(), &any).map(drop)
    }

    pub fn target(text: &str) -> Result<(), FileError> {
        crate::run::target::Target::parse("target.toml", text).map(drop)
    }
}
