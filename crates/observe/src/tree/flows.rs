//! The channels between the processes of a tree: who waited on each, what the other side did meanwhile, and
//! how full it was.

use super::Step;
use super::activity::{Doing, Tally, Waiting};
use crate::doctor::holders::{Channel, Holders};
use crate::doctor::world::World;
use crate::probes::pipes::PipeProbe;
use pelton_record::diagnosis::Holder;
use pelton_record::process_tree::Activity;
use pelton_sys::descriptors::Target;
use pelton_sys::other_process::{Fill, PipeState};
use pelton_sys::pidfd;
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum number of channels whose fill is read per sample.
const FILLS: usize = 32;
/// Maximum number of channels kept.
const KEPT: usize = 1024;

/// A process, by its place, and a descriptor of it.
pub type End = (usize, u32);

/// All channels seen between processes of the tree.
#[derive(Default)]
pub struct Flows {
    pub all: HashMap<Channel, Flow>,
    /// The other ends of sockets: a connected pair stays one.
    peers: HashMap<u64, Option<u64>>,
}

/// One channel.
pub struct Flow {
    pub path: Option<String>,
    /// How long it was open at both ends.
    pub open_ns: u64,
    /// For how long each held this end, and not the other.
    pub held: [HashMap<End, u64>; 2],
    /// For how long each waited on it, or was waited for.
    pub waited: [HashMap<End, u64>; 2],
    /// Time a reader and a writer were blocked.
    pub blocked_ns: [u64; 2],
    /// What the other side did while a reader, or a writer, was blocked.
    pub meanwhile: [Activity; 2],
    pub longest_unread_ns: u64,
    /// The blocked writer's evidence and the time it has had it.
    unread: Option<(String, u64)>,
    pub fill: PipeProbe,
}

/// Sides of a channel.
pub const READER: usize = 0;
pub const WRITER: usize = 1;

impl Flow {
    fn new(channel: Channel, now_ns: u64) -> Self {
        let inode = match channel {
            Channel::Pipe(inode) | Channel::Fifo(_, inode) | Channel::Socket(inode) => inode,
        };
        Flow {
            path: None,
            open_ns: 0,
            held: Default::default(),
            waited: Default::default(),
            blocked_ns: [0; 2],
            meanwhile: Default::default(),
            longest_unread_ns: 0,
            unread: None,
            fill: PipeProbe::new(inode, now_ns),
        }
    }
}

/// The holders of both ends of a channel.
type Held = [Vec<Holder>; 2];

impl Flows {
    /// Adds a sample.
    pub fn add(&mut self, world: &World, holders: &Holders, steps: &BTreeMap<u32, Step>, now_ns: u64) {
        let open = self.open_channels(world, holders, steps);
        for (channel, held) in &open {
            let full = self.all.len() >= KEPT;
            if full && !self.all.contains_key(channel) {
                continue;
            }
            let flow = self.all.entry(*channel).or_insert_with(|| Flow::new(*channel, now_ns));
            flow.hold(held, steps);
        }
        self.name_fifos(holders, steps);
        for (&pid, step) in steps {
            for waiting in &step.waiting {
                self.wait(pid, step, waiting, world, steps);
            }
        }
        self.forget_what_was_read(world, steps);
        for (channel, held) in open.iter().take(FILLS) {
            if let Some(flow) = self.all.get_mut(channel) {
                flow.sample_fill(*channel, held, holders, now_ns);
            }
        }
    }

    /// Returns the channels of which one process holds the reading and another one the writing end.
    fn open_channels(
        &mut self,
        world: &World,
        holders: &Holders,
        steps: &BTreeMap<u32, Step>,
    ) -> BTreeMap<Channel, Held> {
        let mut open: BTreeMap<Channel, Held> = BTreeMap::new();
        for &pid in world.processes.keys().filter(|pid| steps.contains_key(pid)) {
            for one in holders.of(pid) {
                let Some(channel) = Channel::of(&one.target) else { continue };
                let holder = || Holder { pid, fd: Some(one.fd) };
                match channel {
                    Channel::Socket(inode) => {
                        let Some(peer) = self.peer(inode, holders) else { continue };
                        open.entry(channel).or_default()[READER].push(holder());
                        open.entry(Channel::Socket(peer)).or_default()[WRITER].push(holder());
                    }
                    Channel::Pipe(_) | Channel::Fifo(..) => {
                        let held = open.entry(channel).or_default();
                        held[READER].extend(one.reads.then(holder));
                        held[WRITER].extend(one.writes.then(holder));
                    }
                }
            }
        }
        open.retain(|_, [readers, writers]| {
            readers.iter().any(|reader| writers.iter().any(|writer| writer.pid != reader.pid))
        });
        open
    }

    fn peer(&mut self, inode: u64, holders: &Holders) -> Option<u64> {
        *self.peers.entry(inode).or_insert_with(|| holders.socket(inode)?.peer)
    }

    fn name_fifos(&mut self, holders: &Holders, steps: &BTreeMap<u32, Step>) {
        for one in steps.keys().flat_map(|&pid| holders.of(pid)) {
            if let Target::Fifo(fifo) = &one.target
                && let Some(flow) = self.all.get_mut(&Channel::Fifo(fifo.device, fifo.inode))
            {
                flow.path.get_or_insert_with(|| fifo.path.clone());
            }
        }
    }

    /// Adds the wait of a process.
    fn wait(&mut self, pid: u32, step: &Step, waiting: &Waiting, world: &World, steps: &BTreeMap<u32, Step>) {
        let Some(flow) = self.all.get_mut(&waiting.channel) else { return };
        let (own, other) = if waiting.writes { (WRITER, READER) } else { (READER, WRITER) };
        let blocked_ns = step.blocked_ns();
        flow.blocked_ns[own] += blocked_ns;
        *flow.waited[own].entry((step.place, waiting.fd)).or_default() += blocked_ns;
        if let Some(partner) = partner(pid, &waiting.by, world, steps)
            && let (Some(fd), Some(step)) = (partner.fd, steps.get(&partner.pid))
        {
            *flow.waited[other].entry((step.place, fd)).or_default() += blocked_ns;
            flow.meanwhile[own].samples += 1;
            let busy = step.running_ns * 2 > step.length_ns;
            flow.meanwhile[own].spend(if busy { Doing::Running } else { step.doing }, blocked_ns);
        }
        if waiting.writes {
            flow.unread(pid, step.length_ns, world);
        }
    }

    /// Ends stretches in which no writer was blocked.
    fn forget_what_was_read(&mut self, world: &World, steps: &BTreeMap<u32, Step>) {
        let blocked: Vec<&str> = steps
            .iter()
            .filter(|(_, step)| step.doing == Doing::Writing)
            .filter_map(|(pid, _)| world.processes.get(pid)?.tasks.first())
            .map(|task| task.evidence.as_str())
            .collect();
        for flow in self.all.values_mut() {
            flow.unread.take_if(|(evidence, _)| !blocked.contains(&evidence.as_str()));
        }
    }
}

impl Flow {
    /// Adds the time for which each process held one end and not the other. A process that holds both has inherited one of
    /// them, or talks to itself.
    fn hold(&mut self, held: &Held, steps: &BTreeMap<u32, Step>) {
        let holders = held.iter().flatten().filter_map(|holder| steps.get(&holder.pid));
        self.open_ns += holders.map(|step| step.length_ns).min().unwrap_or(0);
        for side in [READER, WRITER] {
            for holder in &held[side] {
                let both = held[1 - side].iter().any(|other| other.pid == holder.pid);
                if let (Some(fd), Some(step)) = (holder.fd, steps.get(&holder.pid)) {
                    let ns = if both { 0 } else { step.length_ns };
                    *self.held[side].entry((step.place, fd)).or_default() += ns;
                }
            }
        }
    }

    /// Prolongs the stretch in which a blocked writer does not run.
    fn unread(&mut self, pid: u32, length_ns: u64, world: &World) {
        let task = world.processes.get(&pid).and_then(|process| process.tasks.first());
        let Some(evidence) = task.map(|task| &task.evidence) else { return };
        let before_ns = match &self.unread {
            Some((before, ns)) if before == evidence => *ns,
            Some(_) => return self.unread = Some((evidence.clone(), 0)),
            None => 0,
        };
        self.longest_unread_ns = self.longest_unread_ns.max(before_ns + length_ns);
        self.unread = Some((evidence.clone(), before_ns + length_ns));
    }

    fn sample_fill(&mut self, channel: Channel, held: &Held, holders: &Holders, now_ns: u64) {
        if let Channel::Socket(inode) = channel {
            // Read only if somebody waits on a socket: the list of all of them is long.
            let Some(unread) = holders.socket_if_read(inode).and_then(|socket| socket.unread_bytes) else {
                return;
            };
            let fill = Fill { bytes: u64::from(unread), capacity_bytes: None };
            self.fill.add(now_ns, PipeState { inode, fill, is_full: false });
            return;
        }
        let end = |side: usize| {
            let holder = held[side].first()?;
            Some((pidfd::open(holder.pid)?, holder.fd?))
        };
        let (writer, reader) = (end(WRITER), None::<(BorrowedFd<'_>, u32)>);
        let writer = writer.as_ref().map(|(process, fd)| (process.as_fd(), *fd));
        self.fill.sample_ends(now_ns, writer, reader);
    }
}

/// Returns who could end a wait: of several, the waiting process's parent or child, and rather one that works
/// than one that waits for a child. One that only inherited its parent's descriptor does not use it, unless it is a
/// standard one.
fn partner<'w>(pid: u32, by: &'w [Holder], world: &World, steps: &BTreeMap<u32, Step>) -> Option<&'w Holder> {
    let parent = |pid: u32| world.processes.get(&pid).map(|process| process.stat.parent);
    let related = |other: u32| parent(pid) == Some(other) || parent(other) == Some(pid);
    let others = by.iter().filter(|holder| holder.pid != pid && steps.contains_key(&holder.pid));
    others.min_by_key(|holder| {
        let inherited = holder.fd > Some(2)
            && by.iter().any(|other| {
                other.fd == holder.fd && parent(holder.pid) == Some(other.pid) && other.pid != pid
            });
        let waits = steps.get(&holder.pid).is_some_and(|step| step.doing == Doing::Child);
        let started = by.iter().any(|other| other.fd <= Some(2) && parent(other.pid) == Some(holder.pid));
        (inherited, waits && started, !related(holder.pid), holder.pid)
    })
}
