//! The memory limits of this process, each with its usage.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// A limit of a cgroup of version 1 from this number of octets on means no limit.
const UNLIMITED: u64 = 1 << 62;

/// The source of a memory limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The configuration: limits the resident memory of this process.
    Configured,
    /// A cgroup of version 2, by its directory, and the file that limits it.
    CgroupV2(PathBuf, &'static str),
    /// A cgroup of version 1, by its directory.
    CgroupV1(PathBuf),
    /// RLIMIT_AS: limits the address space.
    AddressSpace,
    /// RLIMIT_DATA: limits the writable memory of the process.
    Data,
    /// The memory of the host, for all processes.
    Host,
}

/// A limit in octets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Limit {
    pub(super) source: Source,
    pub(super) octets: u64,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => f.write_str("upf.memory"),
            Self::CgroupV2(directory, file) => write!(f, "{}/{file}", directory.display()),
            Self::CgroupV1(directory) => write!(f, "{}/memory.limit_in_bytes", directory.display()),
            Self::AddressSpace => f.write_str("RLIMIT_AS, `ulimit -v`"),
            Self::Data => f.write_str("RLIMIT_DATA, `ulimit -d`"),
            Self::Host => f.write_str("the memory of the host"),
        }
    }
}

impl Source {
    /// Memory counts when it is allocated, and not when it is used first.
    pub(super) const fn counts_untouched(&self) -> bool {
        matches!(self, Self::AddressSpace | Self::Data)
    }

    const fn is_cgroup(&self) -> bool {
        matches!(self, Self::CgroupV1(_) | Self::CgroupV2(..))
    }

    /// The usage under the limit; `None`: it cannot be read.
    pub(super) fn used(&self) -> Option<u64> {
        let read = |path: &Path| fs::read_to_string(path).ok();
        match self {
            Self::Configured => kilobytes(&read("/proc/self/status".as_ref())?, "VmRSS:"),
            Self::AddressSpace => kilobytes(&read("/proc/self/status".as_ref())?, "VmSize:"),
            Self::Data => kilobytes(&read("/proc/self/status".as_ref())?, "VmData:"),
            Self::Host => {
                let text = read("/proc/meminfo".as_ref())?;
                Some(kilobytes(&text, "MemTotal:")?.saturating_sub(kilobytes(&text, "MemAvailable:")?))
            }
            // The kernel frees cached files before it kills a process.
            Self::CgroupV2(directory, _) => {
                let used: u64 = read(&directory.join("memory.current"))?.trim().parse().ok()?;
                let cached = field(&read(&directory.join("memory.stat"))?, "inactive_file").unwrap_or(0);
                Some(used.saturating_sub(cached))
            }
            Self::CgroupV1(directory) => {
                let used: u64 = read(&directory.join("memory.usage_in_bytes"))?.trim().parse().ok()?;
                let stat = read(&directory.join("memory.stat"))?;
                Some(used.saturating_sub(field(&stat, "total_inactive_file").unwrap_or(0)))
            }
        }
    }
}

/// A line such as `MemTotal:  1234 kB`, in octets.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// A line such as `inactive_file 1234`.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    rest.trim().parse().ok()
}

/// All limits of the system. A source that cannot be read, or has unknown contents, sets no limit.
pub(super) fn detected() -> Vec<Limit> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let text = |path: &str| read(path.as_ref()).unwrap_or_default();
    let mut limits = of_cgroups(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"), read);
    let resources = [(Source::AddressSpace, Resource::As), (Source::Data, Resource::Data)];
    limits.extend(
        resources.into_iter().filter_map(|(source, resource)| {
            getrlimit(resource).current.map(|octets| Limit { source, octets })
        }),
    );
    let machine = kilobytes(&text("/proc/meminfo"), "MemTotal:");
    limits.extend(machine.map(|octets| Limit { source: Source::Host, octets }));
    limits
}

/// What the cgroups of this process leave of the memory of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CgroupMemory {
    /// The limit with the least memory left, by the file that sets it.
    pub limit: String,
    /// Octets that it leaves.
    pub left: u64,
}

impl CgroupMemory {
    /// What is left now; `None`: no cgroup has a limit.
    pub fn now() -> Option<Self> {
        let of_cgroups = detected().into_iter().filter(|limit| limit.source.is_cgroup());
        let left = |Limit { source, octets }: Limit| Self {
            left: octets.saturating_sub(source.used().unwrap_or(0)),
            limit: source.to_string(),
        };
        of_cgroups.map(left).min_by_key(|memory| memory.left)
    }
}

/// The limits of the cgroups of a process and of their ancestors, from `/proc/self/cgroup`, `/proc/self/mountinfo` and
/// the files of the cgroups.
fn of_cgroups(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Vec<Limit> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let is_v2 = number == "0" && controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|controller| controller == "memory") {
            continue;
        }
        for directory in directories(path, mounts, is_v2) {
            let limit = |file: &str| {
                let octets = read(&directory.join(file))?.trim().parse::<u64>().ok()?;
                (octets < UNLIMITED).then_some(octets)
            };
            if is_v2 {
                // Above the second one the kernel throttles allocations without end.
                limits.extend(["memory.max", "memory.high"].into_iter().filter_map(|file| {
                    let source = Source::CgroupV2(directory.clone(), file);
                    limit(file).map(|octets| Limit { source, octets })
                }));
            } else {
                let source = Source::CgroupV1(directory.clone());
                limits.extend(limit("memory.limit_in_bytes").map(|octets| Limit { source, octets }));
            }
        }
    }
    limits
}

/// The directories of the cgroup with this path and of its ancestors, as far as they are mounted.
fn directories(path: &str, mounts: &str, is_v2: bool) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for line in mounts.lines() {
        let Some((place, kind)) = line.split_once(" - ") else { continue };
        let mut kind = kind.split(' ');
        let options = (kind.next(), kind.nth(1));
        let fits = match options {
            (Some("cgroup2"), _) => is_v2,
            (Some("cgroup"), Some(options)) => !is_v2 && options.split(',').any(|it| it == "memory"),
            _ => false,
        };
        let mut place = place.split(' ').skip(3);
        let (Some(root), Some(mount), true) = (place.next(), place.next(), fits) else { continue };
        let mount = Path::new(mount);
        // In a container the mounted path may differ from the path in /proc.
        let inside = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        if inside.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            directories.push(mount.to_owned());
            continue;
        }
        let around = inside.ancestors().take_while(|inside| !inside.as_os_str().is_empty());
        directories.extend(around.map(|inside| mount.join(inside)));
        directories.push(mount.to_owned());
    }
    directories
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                      34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn found(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Vec<(String, u64)> {
        let files: BTreeMap<&Path, &str> =
            files.iter().map(|(path, text)| (Path::new(path), *text)).collect();
        let limits = of_cgroups(groups, mounts, |path| files.get(path).map(|text| (*text).to_owned()));
        limits.into_iter().map(|limit| (limit.source.to_string(), limit.octets)).collect()
    }

    // Input:  a service in a slice: the service has a limit, its slice a smaller one and memory.high, the root none.
    // Output: all three limits, by the files that set them.
    #[test]
    fn a_cgroup_is_limited_by_those_around_it() {
        let files = [
            ("/sys/fs/cgroup/upf.slice/causeway.service/memory.max", "1073741824\n"),
            ("/sys/fs/cgroup/upf.slice/causeway.service/memory.high", "max\n"),
            ("/sys/fs/cgroup/upf.slice/memory.max", "536870912\n"),
            ("/sys/fs/cgroup/upf.slice/memory.high", "500000000\n"),
            ("/sys/fs/cgroup/other.slice/memory.max", "5\n"),
        ];
        assert_eq!(
            found("0::/upf.slice/causeway.service\n", V2, &files),
            [
                ("/sys/fs/cgroup/upf.slice/causeway.service/memory.max".to_owned(), 1 << 30),
                ("/sys/fs/cgroup/upf.slice/memory.max".to_owned(), 1 << 29),
                ("/sys/fs/cgroup/upf.slice/memory.high".to_owned(), 500_000_000),
            ]
        );
    }

    // Input:  version 1 beside a version 2 without controllers; with a limit, and with the kernel's value for no limit.
    // Output: the limit, and none.
    #[test]
    fn version_1_has_a_hierarchy_of_its_own() {
        let groups = "9:name=systemd:/\n4:memory:/pod/upf\n3:cpuset,memory_x:/\n0::/\n";
        let files = [
            ("/sys/fs/cgroup/memory/pod/upf/memory.limit_in_bytes", "209715200\n"),
            ("/sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/unified/memory.max", "max\n"),
        ];
        let limit = "/sys/fs/cgroup/memory/pod/upf/memory.limit_in_bytes".to_owned();
        assert_eq!(found(groups, V1, &files), [(limit, 200 << 20)]);
    }

    // Input:  a container: only its cgroup is mounted, under another name; or its path is outside the mounted tree.
    // Output: the limit of what is mounted.
    #[test]
    fn a_container_sees_its_own_cgroup() {
        let mount = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        let files = [("/sys/fs/cgroup/memory.max", "1000000\n"), ("/sys/fs/cgroup/x/memory.max", "7\n")];
        let limit = [("/sys/fs/cgroup/memory.max".to_owned(), 1_000_000)];
        for (groups, mounts) in [
            ("0::/docker/abc\n", mount),
            ("0::/\n", V2),
            ("0::/elsewhere\n", mount),
            ("0::/../sibling\n", V2),
        ] {
            assert_eq!(found(groups, mounts, &files), limit, "{groups}");
        }
    }

    // Input:  files that are empty, have other contents, or too large values.
    // Output: no limit.
    #[test]
    fn what_cannot_be_read_limits_nothing() {
        for text in ["", "max", "-1", "12 MiB", "99999999999999999999999", "\u{fffd}", "1e9"] {
            assert_eq!(found("0::/", V2, &[("/sys/fs/cgroup/memory.max", text)]), [], "{text}");
        }
        for groups in ["", "0", "0:", "::", "x:memory", "4:memory:/a\n0::/a", "\n\n"] {
            assert_eq!(found(groups, "", &[]), [], "{groups}");
            assert_eq!(found(groups, "30 23 - cgroup2", &[]), [], "{groups}");
            assert_eq!(found(groups, "- - - cgroup2 -\n30", &[]), [], "{groups}");
        }
        for text in ["", "MemTotal:", "MemTotal: x kB", "MemTotal: 99999999999999999999 kB"] {
            assert_eq!((kilobytes(text, "MemTotal:"), field(text, "MemTotal:")), (None, None), "{text}");
        }
        assert_eq!(kilobytes("MemFree: 1 kB\nMemTotal:   2 kB\n", "MemTotal:"), Some(2048));
    }

    // Input:  this process.
    // Output: the host has a limit with some usage; each limit of this process has a usage, too.
    #[test]
    fn this_process_uses_memory() {
        let machine = detected().into_iter().find(|limit| limit.source == Source::Host).unwrap();
        for source in [Source::Host, Source::Configured, Source::AddressSpace, Source::Data] {
            let used = source.used().unwrap();
            assert!(used > 0 && (source == Source::AddressSpace || used < machine.octets), "{source} {used}");
        }
        assert_eq!(field("active_file 5\ninactive_file 77\n", "inactive_file"), Some(77));
    }
}
