//! Which processes hold which ends of which channels.

use pelton_record::diagnosis::Holder;
use pelton_sys::descriptors::{self, Descriptor, Target};
use pelton_sys::sockets::{self, Socket};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

/// A channel between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// An anonymous pipe, by inode.
    Pipe(u64),
    /// A FIFO, by device and inode.
    Fifo(u64, u64),
    /// One end of a socket pair, by inode.
    Socket(u64),
}

impl Channel {
    /// Returns a descriptor's channel, if it is one.
    pub fn of(target: &Target) -> Option<Self> {
        match target {
            Target::Pipe(inode) => Some(Channel::Pipe(*inode)),
            Target::Fifo(fifo) => Some(Channel::Fifo(fifo.device, fifo.inode)),
            Target::Socket(inode) => Some(Channel::Socket(*inode)),
            Target::Anonymous(_) | Target::Terminal(_) | Target::File(_) => None,
        }
    }
}

/// All readable descriptors, and an index of the holders of channels.
#[derive(Default)]
pub struct Holders {
    descriptors: BTreeMap<u32, Vec<Descriptor>>,
    readers: HashMap<Channel, Vec<Holder>>,
    writers: HashMap<Channel, Vec<Holder>>,
    unix: OnceCell<HashMap<u64, Socket>>,
    tcp: OnceCell<HashMap<u64, Socket>>,
}

impl Holders {
    /// Reads the descriptors of these processes.
    pub fn read(pids: impl Iterator<Item = u32>) -> Self {
        let mut holders = Holders::default();
        for pid in pids {
            if let Some(descriptors) = descriptors::all(pid) {
                holders.index(pid, &descriptors);
                holders.descriptors.insert(pid, descriptors);
            }
        }
        holders
    }

    fn index(&mut self, pid: u32, descriptors: &[Descriptor]) {
        for one in descriptors {
            let Some(channel) = Channel::of(&one.target) else { continue };
            let holder = Holder { pid, fd: Some(one.fd) };
            if one.reads {
                self.readers.entry(channel).or_default().push(holder.clone());
            }
            if one.writes {
                self.writers.entry(channel).or_default().push(holder);
            }
        }
    }

    /// Whether the descriptors of `pid` are readable.
    pub fn sees(&self, pid: u32) -> bool {
        self.descriptors.contains_key(&pid)
    }

    /// Returns all descriptors of `pid`.
    pub fn of(&self, pid: u32) -> &[Descriptor] {
        self.descriptors.get(&pid).map_or(&[], Vec::as_slice)
    }

    /// Returns descriptor `fd` of `pid`.
    pub fn descriptor(&self, pid: u32, fd: u32) -> Option<&Descriptor> {
        self.of(pid).iter().find(|one| one.fd == fd)
    }

    /// Returns the other holders of this file.
    pub fn of_file(&self, file: &Target, but: (u32, u32)) -> Vec<Holder> {
        let same = |(&pid, descriptors): (&u32, &'_ Vec<Descriptor>)| {
            let same = descriptors.iter().filter(|one| one.target == *file && (pid, one.fd) != but);
            same.map(|one| Holder { pid, fd: Some(one.fd) }).collect::<Vec<_>>()
        };
        self.descriptors.iter().flat_map(same).collect()
    }

    /// Returns the processes that could write to `channel` or close it, and so unblock its reader.
    pub fn givers(&self, channel: Channel) -> Vec<Holder> {
        match channel {
            Channel::Socket(inode) => self.peers(inode),
            _ => self.writers.get(&channel).cloned().unwrap_or_default(),
        }
    }

    /// Returns the processes that could read from `channel`, and so unblock its writer.
    pub fn takers(&self, channel: Channel) -> Vec<Holder> {
        match channel {
            Channel::Socket(inode) => self.peers(inode),
            _ => self.readers.get(&channel).cloned().unwrap_or_default(),
        }
    }

    /// Returns the state of a Unix socket if the list of all sockets has been read already.
    pub fn socket_if_read(&self, inode: u64) -> Option<Socket> {
        self.unix.get()?.get(&inode).copied()
    }

    fn peers(&self, inode: u64) -> Vec<Holder> {
        let peer = self.socket(inode).and_then(|socket| socket.peer);
        peer.and_then(|peer| self.readers.get(&Channel::Socket(peer))).cloned().unwrap_or_default()
    }

    /// Returns the state of a socket. Reads the TCP table only if it is not a Unix socket.
    pub fn socket(&self, inode: u64) -> Option<Socket> {
        let unix = self.unix.get_or_init(|| sockets::unix().unwrap_or_default());
        unix.get(&inode).or_else(|| self.tcp.get_or_init(sockets::tcp).get(&inode)).copied()
    }
}
