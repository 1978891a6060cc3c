//! The timeline itself, gathered while a log is judged.

use std::collections::{BTreeMap, HashMap};

use crate::events::{Occurrence, Phase};
use crate::schema::{EventWatch, Finding, Level};
use crate::text::clip;
use crate::time::Millis;

/// Lanes that are kept; the rest are counted.
const MAX_LANES: usize = 2_000;
/// Entries of one lane that are kept; the rest are counted.
const MAX_ENTRIES: usize = 2_000;
/// Texts from the log are cut to this many characters.
const MAX_TEXT: usize = 120;

/// Everything that happened, in lanes.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// One life of one peer each, in the order of appearance.
    pub lanes: Vec<Lane>,
    /// Findings that are about no peer.
    pub loose: Vec<Entry>,
    /// Lives that were not kept.
    pub more_lanes: u64,
    /// How long recoveries took.
    pub recovery: Measure,
    /// How long answers took.
    pub answers: Measure,
    /// How far heartbeats were apart.
    pub heartbeats: Measure,
    /// Requests without an answer.
    pub unanswered: u64,
    /// How often each must clause is broken, and on which line of the log first.
    broken: BTreeMap<String, (u64, u64)>,
    session: u64,
    /// The lane of each peer that is there now.
    current: HashMap<String, usize>,
}

/// One life of one peer.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// The session, counted from 1.
    pub session: u64,
    pub peer: String,
    pub name: String,
    pub role: String,
    pub parent: Option<String>,
    /// What it is to do.
    pub mission: String,
    /// When it was first and last heard of.
    pub span: Option<(Millis, Millis)>,
    /// What it did, in order.
    pub entries: Vec<Entry>,
    /// Entries that were not kept.
    pub more: u64,
    /// How it ended, if it did.
    pub end: Option<String>,
    booted: bool,
    recovering: Option<Millis>,
    open: Vec<(String, usize)>,
}

/// Something on a lane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// When, by the log's clock.
    pub time: Option<Millis>,
    /// When it ended, for what lasts.
    pub until: Option<Millis>,
    /// The line of the log.
    pub line: u64,
    pub kind: EntryKind,
    /// In words; from the log, and hostile.
    pub text: String,
}

/// What an [`Entry`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Phase(Phase),
    /// A request, until its answer.
    Request,
    Silence,
    Command,
    Note,
    /// A join, boot, complete or leave.
    Milestone,
    Finding(Level),
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Measure {
    pub count: u64,
    pub total: Millis,
    pub longest: Millis,
}

impl Measure {
    fn add(&mut self, span: Millis) {
        let span = span.max(0);
        self.count += 1;
        self.total = self.total.saturating_add(span);
        self.longest = self.longest.max(span);
    }

    /// The mean, if there is one.
    pub(crate) fn mean(&self) -> Option<Millis> {
        (self.count > 0).then(|| self.total / i64::try_from(self.count).unwrap_or(i64::MAX))
    }
}

impl Timeline {
    /// From the first to the last moment.
    pub(crate) fn span(&self) -> Option<(Millis, Millis)> {
        let spans = self.lanes.iter().filter_map(|lane| lane.span);
        spans.reduce(|(from, to), (start, end)| (from.min(start), to.max(end)))
    }

    /// The lanes of a session with their depth in the tree, parents before children.
    pub(crate) fn tree(&self, session: u64) -> Vec<(usize, &Lane)> {
        let lanes: Vec<_> =
            self.lanes.iter().enumerate().filter(|(_, lane)| lane.session == session).collect();
        let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
        let known: HashMap<&str, usize> = lanes.iter().map(|(at, lane)| (lane.peer.as_str(), *at)).collect();
        let mut roots = Vec::new();
        for (at, lane) in &lanes {
            match lane.parent.as_deref().filter(|parent| known.contains_key(parent) && *parent != lane.peer) {
                Some(parent) => children.entry(parent).or_default().push(*at),
                None => roots.push(*at),
            }
        }
        let mut out = Vec::new();
        let mut placed = vec![false; self.lanes.len()];
        let mut stack: Vec<_> = roots.into_iter().rev().map(|at| (0, at)).collect();
        // A cycle has no root; whoever is in one stands at the top.
        let mut rest = lanes.iter().map(|(at, _)| *at);
        loop {
            let Some((depth, at)) =
                stack.pop().or_else(|| rest.by_ref().find(|at| !placed[*at]).map(|at| (0, at)))
            else {
                return out;
            };
            if std::mem::replace(&mut placed[at], true) {
                continue;
            }
            let lane = &self.lanes[at];
            out.push((depth, lane));
            // Several lives of one peer share their children, which are shown once, under the first.
            if let Some(below) = children.remove(lane.peer.as_str()) {
                stack.extend(below.into_iter().rev().map(|at| (depth + 1, at)));
            }
        }
    }

    /// How many sessions there are.
    pub(crate) fn sessions(&self) -> u64 {
        self.session.max(1)
    }

    fn lane(&mut self, peer: &str) -> Option<&mut Lane> {
        if let Some(at) = self.current.get(peer) {
            return self.lanes.get_mut(*at);
        }
        if self.lanes.len() >= MAX_LANES {
            self.more_lanes += 1;
            return None;
        }
        self.current.insert(peer.to_owned(), self.lanes.len());
        self.lanes.push(Lane { session: self.session.max(1), peer: clipped(peer), ..Lane::default() });
        self.lanes.last_mut()
    }

    /// Ends the log: what is still open stays so until its end.
    pub(crate) fn finish(&mut self) {
        for lane in &mut self.lanes {
            let end = lane.span.map(|(_, end)| end);
            for entry in lane.entries.iter_mut().rev() {
                if matches!(entry.kind, EntryKind::Phase(_)) {
                    entry.until = entry.until.or(end);
                    break;
                }
            }
            self.unanswered += lane.open.len() as u64;
        }
    }
}

impl Lane {
    fn touch(&mut self, time: Option<Millis>) {
        let Some(time) = time else { return };
        self.span = Some(self.span.map_or((time, time), |(from, to)| (from.min(time), to.max(time))));
    }

    fn add(&mut self, time: Option<Millis>, line: u64, kind: EntryKind, text: String) -> Option<usize> {
        if self.entries.len() >= MAX_ENTRIES {
            self.more += 1;
            return None;
        }
        self.entries.push(Entry { time, until: None, line, kind, text });
        Some(self.entries.len() - 1)
    }

    /// Takes in a join, boot, complete or leave.
    fn milestone(&mut self, time: Option<Millis>, line: u64, what: Occurrence<'_>) {
        let text = match what {
            Occurrence::Joined { role, name } => {
                self.role = clipped(role);
                self.name = clipped(name);
                "joined".to_owned()
            }
            Occurrence::Booted { parent, mission, name } => {
                self.booted = true;
                self.parent = parent.map(clipped);
                self.mission = clipped(mission);
                if !name.is_empty() {
                    self.name = clipped(name);
                }
                if self.role.is_empty() {
                    self.role = "worker".into();
                }
                "booted".to_owned()
            }
            Occurrence::Completed(result) => {
                self.close_phase(time);
                self.end = Some(format!("complete, {}", clipped(result)));
                format!("complete: {}", clipped(result))
            }
            Occurrence::Left(reason) => {
                self.close_phase(time);
                let reason = clipped(reason);
                self.end = Some(match self.end.take() {
                    Some(end) => format!("{end}; left, {reason}"),
                    None => format!("left, {reason}"),
                });
                format!("left: {reason}")
            }
            _ => return,
        };
        self.add(time, line, EntryKind::Milestone, text);
    }

    /// Takes in what happens between; answers with the length of a recovery that ends here.
    fn work(&mut self, time: Option<Millis>, line: u64, what: Occurrence<'_>) -> Option<Millis> {
        match what {
            Occurrence::Entered(phase) => {
                self.close_phase(time);
                self.add(time, line, EntryKind::Phase(phase), phase.name().into());
                if phase == Phase::Recover {
                    self.recovering = self.recovering.or(time);
                    return None;
                }
                let recovered = self.recovering.take().zip(time).map(|(from, to)| to.saturating_sub(from));
                // Going down is no recovery.
                return recovered.filter(|_| phase != Phase::Failed);
            }
            Occurrence::Noted { kind, message } => {
                self.add(time, line, EntryKind::Note, format!("{} {}", clipped(kind), clipped(message)));
            }
            Occurrence::Asked { id, blocked, message } => {
                let word = if blocked { "BLOCKED" } else { "REQUEST" };
                let text = format!("{word} {}", clipped(message));
                if let Some(at) = self.add(time, line, EntryKind::Request, text) {
                    self.open.push((clipped(id), at));
                }
            }
            Occurrence::Answered { id, verb, .. } => {
                let id = clipped(id);
                if let Some(open) = self.open.iter().position(|(known, _)| *known == id) {
                    let (_, at) = self.open.remove(open);
                    if let Some(entry) = self.entries.get_mut(at) {
                        entry.until = time;
                        entry.text = format!("{} → {}", entry.text, clipped(verb));
                    }
                }
            }
            Occurrence::Commanded(verb) => {
                self.add(time, line, EntryKind::Command, clipped(verb));
            }
            Occurrence::Silent(until) => {
                let at = self.add(time, line, EntryKind::Silence, "no heartbeat".to_owned());
                if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
                    entry.until = Some(until);
                }
                self.touch(Some(until));
            }
            _ => {}
        }
        None
    }

    /// Ends the phase that lasts.
    fn close_phase(&mut self, time: Option<Millis>) {
        let last = self.entries.iter_mut().rev().find(|entry| matches!(entry.kind, EntryKind::Phase(_)));
        if let Some(entry) = last.filter(|entry| entry.until.is_none()) {
            entry.until = time;
        }
    }
}

impl Timeline {
    /// The must clauses that are broken, the most often broken first: how often, and on which line first.
    pub(crate) fn broken(&self) -> Vec<(&str, u64, u64)> {
        let mut broken: Vec<_> =
            self.broken.iter().map(|(clause, (count, first))| (clause.as_str(), *count, *first)).collect();
        broken.sort_by_key(|(clause, count, _)| (std::cmp::Reverse(*count), *clause));
        broken
    }
}

impl EventWatch for Timeline {
    fn finding(&mut self, finding: &Finding, peer: Option<&str>, time: Option<Millis>) {
        let line = finding.line.unwrap_or(0);
        if finding.fails() {
            self.broken.entry(finding.clause.clone()).or_insert((0, line)).0 += 1;
        }
        let kind = EntryKind::Finding(finding.level);
        let text = format!("{} {}", finding.clause, finding.message);
        let known = peer.and_then(|peer| self.current.get(peer).copied());
        match known.and_then(|at| self.lanes.get_mut(at)) {
            Some(lane) => {
                lane.add(time, line, kind, text);
            }
            None if self.loose.len() < MAX_ENTRIES => {
                self.loose.push(Entry { time, until: None, line, kind, text });
            }
            None => {}
        }
    }

    fn occurrence(&mut self, peer: &str, time: Option<Millis>, line: u64, what: Occurrence<'_>) {
        if let Occurrence::Session(number) = what {
            self.session = number;
            self.current.clear();
            return;
        }
        let starts_anew = match what {
            Occurrence::Joined { .. } => true,
            Occurrence::Booted { .. } => {
                self.current.get(peer).and_then(|at| self.lanes.get(*at)).is_some_and(|lane| lane.booted)
            }
            _ => false,
        };
        if starts_anew {
            self.current.remove(peer);
        }
        match what {
            Occurrence::Heartbeat(Some(gap)) => self.heartbeats.add(gap),
            Occurrence::Answered { after: Some(after), .. } => self.answers.add(after),
            _ => {}
        }
        let Some(lane) = self.lane(peer) else { return };
        lane.touch(time);
        lane.milestone(time, line, what);
        let recovered = lane.work(time, line, what);
        if let Some(recovered) = recovered {
            self.recovery.add(recovered);
        }
    }

    fn wants_all(&self) -> bool {
        false
    }
}

fn clipped(text: &str) -> String {
    clip(text, MAX_TEXT).into_owned()
}
