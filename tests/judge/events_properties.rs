//! Whatever a log holds, judging it ends, does not panic, and remembers no more than its limits allow.

use clawgate::internals::events::{Limits, LogChecker, Observer, Profile, Violation};
use clawgate::internals::schema::judge_log;
use clawgate::schema::ContractSet;
use proptest::prelude::*;

struct Count(u64);

impl Observer for Count {
    fn violation(&mut self, _: Violation) {
        self.0 += 1;
    }
}

/// Lines that hit every branch more often than random bytes would.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let topic = prop_oneof![
        Just("worker.p1.boot".to_owned()),
        Just("worker.p1.phase".to_owned()),
        Just("worker.p2.event".to_owned()),
        Just("worker.p1.heartbeat".to_owned()),
        Just("worker.p1.complete".to_owned()),
        Just("cmd.p1.approve".to_owned()),
        Just("cmd.p1.set_phase".to_owned()),
        Just("cmd.role.worker".to_owned()),
        Just("system.peer.joined".to_owned()),
        Just("system.peer.left".to_owned()),
        Just("system.peer.stale".to_owned()),
        Just("system.heartbeat".to_owned()),
        Just("task.t.x".to_owned()),
        "[a-z.*A-Z]{0,20}",
    ];
    let from = prop_oneof![Just("server"), Just("p1"), Just("p2"), Just("")];
    let value = prop_oneof![
        Just(r#""PLAN""#.to_owned()),
        Just(r#""OBSERVE""#.to_owned()),
        Just(r#""ERROR""#.to_owned()),
        Just(r#""REQUEST""#.to_owned()),
        Just(r#""fatal""#.to_owned()),
        Just(r#""p1""#.to_owned()),
        Just(r#""worker""#.to_owned()),
        Just(r#""orchestrator""#.to_owned()),
        Just(r#""r1""#.to_owned()),
        Just("null".to_owned()),
        Just("-1".to_owned()),
        Just("1e308".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("[[],{}]".to_owned()),
        Just("NaN".to_owned()),
    ];
    let key = prop_oneof![
        Just("phase"),
        Just("prev"),
        Just("kind"),
        Just("severity"),
        Just("message"),
        Just("request_id"),
        Just("correlation_id"),
        Just("current_phase"),
        Just("time_in_phase_ms"),
        Just("result"),
        Just("peerId"),
        Just("role"),
        Just("reason"),
        Just("parent_peer_id"),
        Just("uptimeMs"),
        Just("data"),
        Just("artifacts"),
        Just("phases_completed"),
        Just("active_sub_workers"),
    ];
    let fields = proptest::collection::vec((key, value), 0..6).prop_map(|fields| {
        let fields: Vec<_> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        fields.join(",")
    });
    let time = prop_oneof![
        Just("2026-06-01T09:00:00.000Z"),
        Just("2026-06-01T09:00:40.000Z"),
        Just("9999-12-31T23:59:59.999Z"),
        Just("0000-01-01T00:00:00Z"),
        Just("soon"),
    ];
    let record = (topic, from, fields, time, any::<bool>(), any::<u64>()).prop_map(
        |(topic, from, fields, time, enveloped, number)| {
            let payload = if enveloped {
                format!(
                    r#"{{"v":1,"id":"{number:08x}-0000-4000-8000-000000000000","schema":"claws/2","parent_id":"p2","data":{{{fields}}}}}"#,
                    number = number % 7
                )
            } else {
                format!("{{{fields}}}")
            };
            format!(
                r#"{{"topic":"{topic}","from":"{from}","ts_server":"{time}","payload":{payload},"sequence":{}}}"#,
                number % 9
            )
            .into_bytes()
        },
    );
    let torn = record.clone().prop_perturb(|mut line, mut random| {
        line.truncate(random.random_range(0..=line.len()));
        line
    });
    prop_oneof![8 => record, 2 => torn, 1 => proptest::collection::vec(any::<u8>(), 0..60)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_log_is_judged_and_any_split_of_it_alike(
        lines in proptest::collection::vec((line(), any::<bool>()), 0..40),
        cut in 0usize..4000,
        profile in 0usize..3,
    ) {
        let mut log = Vec::new();
        for (line, glued) in lines {
            log.extend(line);
            if !glued {
                log.push(b'\n');
            }
        }
        let profile = Profile::ALL[profile];
        let judge = |chunks: &[&[u8]]| {
            let mut count = Count(0);
            let mut judge = LogChecker::new(profile, Limits::default());
            for chunk in chunks {
                judge.push(chunk, &mut count);
            }
            let summary = judge.finish(&mut count);
            (count.0, summary)
        };
        let cut = cut.min(log.len());
        prop_assert_eq!(judge(&[&log]), judge(&[&log[..cut], &log[cut..]]));
    }
}

#[test]
fn a_hundred_thousand_peers_are_bounded() {
    let mut limits = Limits::default();
    limits.peers = 5_000;
    let mut count = Count(0);
    let mut judge = LogChecker::new(Profile::Strict, limits);
    for number in 0..100_000 {
        let line = format!(
            "{{\"topic\":\"worker.p{number}.event\",\"from\":\"p{number}\",\"ts_server\":\"2026-06-01T09:00:00Z\",\"payload\":{{\"kind\":\"REQUEST\",\"severity\":\"info\",\"message\":\"m\",\"request_id\":\"r{number}\"}}}}\n"
        );
        judge.push(line.as_bytes(), &mut count);
    }
    let summary = judge.finish(&mut count);
    assert_eq!((summary.records, summary.peers), (100_000, 5_000));
}

#[test]
fn workers_that_come_and_go_leave_no_deadlines_behind() {
    let mut limits = Limits::default();
    limits.peers = 100;
    limits.gone = 10;
    let mut count = Count(0);
    let mut judge = LogChecker::new(Profile::Strict, limits);
    for number in 0..2_000 {
        // All at one moment, so that no deadline passes.
        let line = format!(
            "{{\"topic\":\"system.peer.joined\",\"from\":\"server\",\"ts_server\":\"2026-06-01T09:00:00Z\",\"payload\":{{\"peerId\":\"p{number}\",\"role\":\"worker\",\"peerName\":\"w\",\"ts\":\"2026-06-01T09:00:00Z\"}}}}\n{{\"topic\":\"system.peer.left\",\"from\":\"server\",\"ts_server\":\"2026-06-01T09:00:00Z\",\"payload\":{{\"peerId\":\"p{number}\",\"role\":\"worker\",\"reason\":\"crash\"}}}}\n"
        );
        judge.push(line.as_bytes(), &mut count);
    }
    let summary = judge.finish(&mut count);
    // Each leaves without a boot, and nothing else is said.
    assert_eq!((summary.records, count.0), (4_000, 2_000));
}

#[test]
fn one_worker_that_asks_without_end_is_bounded() {
    let mut count = Count(0);
    let mut judge = LogChecker::new(Profile::Strict, Limits::default());
    for number in 0..20_000 {
        let line = format!(
            "{{\"topic\":\"worker.p1.event\",\"from\":\"p1\",\"ts_server\":\"2026-06-01T09:00:00Z\",\"payload\":{{\"kind\":\"REQUEST\",\"severity\":\"info\",\"message\":\"m\",\"request_id\":\"r{number}\"}}}}\n"
        );
        judge.push(line.as_bytes(), &mut count);
    }
    assert_eq!(judge.finish(&mut count).peers, 1);
}

#[test]
fn bombs_of_topics_ids_and_depth_are_findings() {
    let set = ContractSet::open("claws-events").unwrap();
    let dots = "a.".repeat(500_000);
    let id = "x".repeat(1_000_000);
    let deep = "[".repeat(50_000);
    for line in [
        format!(r#"{{"topic":"{dots}","payload":{{}}}}"#),
        format!(
            r#"{{"topic":"worker.{id}.boot","from":"{id}","payload":{{"v":1,"id":"{id}","data":{{}}}}}}"#
        ),
        format!(r#"{{"topic":"worker.p.event","from":"p","payload":{{"v":1,"id":"i","data":{{"kind":{deep}"#),
        format!("{{\"topic\":{}", "{\"topic\":".repeat(20_000)),
    ] {
        for profile in Profile::ALL {
            let findings = judge_log(&set, profile, format!("{line}\n{line}\n").as_bytes());
            assert!(!findings.is_empty());
            for finding in findings {
                assert!(finding.message.len() < 2_000, "{}", finding.message.len());
            }
        }
    }
}

#[test]
fn a_clock_that_jumps_is_said_once_for_each_jump_back() {
    let set = ContractSet::open("claws-events").unwrap();
    let line = |time: &str| {
        format!("{{\"topic\":\"buoy.x\",\"from\":\"server\",\"ts_server\":\"{time}\",\"payload\":{{}}}}\n")
    };
    let times =
        ["2026-06-01T09:00:00Z", "2099-01-01T00:00:00Z", "2026-06-01T09:00:01Z", "2026-06-01T09:00:02Z"];
    let log: String = times.iter().map(|time| line(time)).collect();
    let found: Vec<_> =
        judge_log(&set, Profile::Strict, log.as_bytes()).into_iter().map(|f| (f.clause, f.line)).collect();
    assert_eq!(found, [("claws-events/lg-04".to_owned(), Some(3))]);
}
