//! Finds the other end of a socket: of Unix sockets by the kernel's socket diagnosis, as `ss -x` does; of
//! local TCP connections from /proc/net/tcp. Neither needs privilege.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::collections::HashMap;
use std::io;

/// The state of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Socket {
    /// The inode of the other end, if it is on this machine and open.
    pub peer: Option<u64>,
    /// Whether it listens for connections.
    pub listens: bool,
    /// Unread bytes, if the kernel says.
    pub unread_bytes: Option<u32>,
}

/// Returns the Unix sockets of this network namespace, by inode.
///
/// # Errors
/// If the kernel does not support this diagnosis.
pub fn unix() -> io::Result<HashMap<u64, Socket>> {
    let kernel = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    rustix::net::send(&kernel, &request(), SendFlags::empty())?;
    let mut found = HashMap::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (n, _) = rustix::net::recv(&kernel, &mut buffer[..], RecvFlags::empty())?;
        if n == 0 || !take(&buffer[..n], &mut found)? {
            return Ok(found);
        }
    }
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const SHOW_PEER_AND_QUEUES: u32 = 0x4 | 0x10;
const HEADER: usize = 16;
const MESSAGE: usize = 16;
const ATTRIBUTE_PEER: u16 = 2;
const ATTRIBUTE_QUEUES: u16 = 4;
const STATE_LISTEN: u8 = 10;

/// Builds a `nlmsghdr` and a `unix_diag_req` that request all sockets.
fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40);
    bytes.extend(40u32.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(0u32.to_ne_bytes());
    bytes.extend(SHOW_PEER_AND_QUEUES.to_ne_bytes());
    bytes.extend([0xff; 8]);
    bytes
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Parses the sockets of one datagram; returns false if it was the last one.
fn take(mut bytes: &[u8], found: &mut HashMap<u64, Socket>) -> io::Result<bool> {
    while bytes.len() >= HEADER {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer has no end");
        let length = u32_at(bytes, 0).ok_or_else(odd)? as usize;
        let message = bytes.get(HEADER..length.max(HEADER)).ok_or_else(odd)?;
        match i32::from(u16_at(bytes, 4).unwrap_or(0)) {
            libc::NLMSG_DONE => return Ok(false),
            libc::NLMSG_ERROR => {
                let code = u32_at(message, 0).unwrap_or(0) as i32;
                return Err(io::Error::from_raw_os_error(-code));
            }
            _ => found.extend(socket(message)),
        }
        bytes = bytes.get(length.max(HEADER).next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(true)
}

/// Parses a `unix_diag_msg` with its attributes.
fn socket(message: &[u8]) -> Option<(u64, Socket)> {
    let inode = u64::from(u32_at(message, 4)?);
    let mut socket = Socket { listens: *message.get(2)? == STATE_LISTEN, ..Socket::default() };
    let mut rest = message.get(MESSAGE..)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        match kind {
            ATTRIBUTE_PEER => socket.peer = u32_at(rest, 4).map(u64::from).filter(|&peer| peer != 0),
            ATTRIBUTE_QUEUES => socket.unread_bytes = u32_at(rest, 4),
            _ => {}
        }
        rest = rest.get(usize::from(length).max(4).next_multiple_of(4)..).unwrap_or(&[]);
    }
    Some((inode, socket))
}

/// Returns the TCP sockets of this network namespace, by inode.
pub fn tcp() -> HashMap<u64, Socket> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let rows: Vec<Row> =
        [read("/proc/net/tcp"), read("/proc/net/tcp6")].iter().flat_map(|text| rows(text)).collect();
    let by_ends: HashMap<(&str, &str), u64> =
        rows.iter().map(|row| ((row.local.as_str(), row.remote.as_str()), row.inode)).collect();
    let socket = |row: &Row| {
        let peer =
            by_ends.get(&(row.remote.as_str(), row.local.as_str())).copied().filter(|&inode| inode != 0);
        Socket { peer, listens: row.listens, unread_bytes: row.unread_bytes }
    };
    rows.iter().map(|row| (row.inode, socket(row))).collect()
}

struct Row {
    local: String,
    remote: String,
    listens: bool,
    unread_bytes: Option<u32>,
    inode: u64,
}

/// Parses lines such as `0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1234
/// …`.
fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, unread) = fields.get(4)?.split_once(':')?;
        Some(Row {
            local: plain((*fields.get(1)?).to_owned()),
            remote: plain((*fields.get(2)?).to_owned()),
            listens: *fields.get(3)? == "0A",
            unread_bytes: u32::from_str_radix(unread, 16).ok(),
            inode: fields.get(9)?.parse().ok()?,
        })
    };
    text.lines().skip(1).filter_map(row).collect()
}

/// Converts an IPv4-mapped IPv6 address to IPv4, so that both ends of a connection have the same form.
fn plain(address: String) -> String {
    const MAPPED: &str = "0000000000000000FFFF0000";
    address.strip_prefix(MAPPED).map_or(address.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn inode(fd: &impl AsRawFd) -> u64 {
        let own = std::process::id();
        match crate::descriptors::one(own, fd.as_raw_fd() as u32).expect("open").target {
            crate::descriptors::Target::Socket(inode) => inode,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn finds_the_other_end_of_a_pair() {
        let (one, other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let known = unix().expect("socket diagnosis");
        assert_eq!(known[&inode(&one)].peer, Some(inode(&other)));
        assert_eq!(known[&inode(&other)].peer, Some(inode(&one)));
    }

    #[test]
    fn finds_the_other_end_of_a_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let one = std::net::TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (other, _) = listener.accept().expect("accepts");
        let known = tcp();
        assert!(known[&inode(&listener)].listens);
        assert_eq!(known[&inode(&one)].peer, Some(inode(&other)));
        assert_eq!(known[&inode(&other)].peer, Some(inode(&one)));
    }
}
