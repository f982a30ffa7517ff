import Glibc

/// Who may read or change a file that holds a secret, besides its owner, root and the group that beekond runs in.
enum Exposure: Equatable {
    case everybodyReads, everybodyWrites
    case group(UInt32)

    /// - Parameters:
    ///   - group: the group of the file.
    ///   - ours: the groups that beekond is in: a file that root keeps for it is readable by one of them.
    init?(mode: mode_t, group: gid_t, ours: Set<gid_t>) {
        if mode & S_IWOTH != 0 {
            self = .everybodyWrites
        } else if mode & S_IROTH != 0 {
            self = .everybodyReads
        } else if mode & (S_IRGRP | S_IWGRP) != 0, !ours.contains(group) {
            self = .group(group)
        } else {
            return nil
        }
    }

    /// The groups of this process, and for root, who checks what beekond will read, the group of beekond's account.
    static func ownGroups() -> Set<gid_t> {
        var groups = [gid_t](repeating: 0, count: 1024)
        let count = getgroups(Int32(groups.count), &groups)
        let own = Set(groups.prefix(Int(max(count, 0)))).union([getegid()])
        guard geteuid() == 0, let group = getgrnam("beekond") else { return own }
        return own.union([group.pointee.gr_gid])
    }

    /// A sentence for the operator.
    func warning(_ path: String, _ secret: String) -> String {
        switch self {
        case .everybodyReads:
            "\(path): everybody can read this file and its secret \(secret); chmod o-r \(path)"
        case .everybodyWrites:
            "\(path): everybody can change this file and its secret \(secret); chmod o-rw \(path)"
        case .group(let group):
            "\(path): group \(group), which beekond is not in, can read this file and its secret \(secret); "
                + "chgrp beekond \(path), or chmod g-rw \(path)"
        }
    }
}
