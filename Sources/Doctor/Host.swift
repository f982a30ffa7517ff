internal import Base
internal import FoundationEssentials
internal import Glibc
internal import Linux

/// What the kernel and its file systems report.
enum Host {
    static func user() -> Facts.User {
        var user = Facts.User()
        user.isRoot = ownUID() == 0
        if let entry = getpwuid(ownUID()) { user.name = String(cString: entry.pointee.pw_name) }
        var groups = [gid_t](repeating: 0, count: 1024)
        let count = getgroups(Int32(groups.count), &groups)
        for group in groups.prefix(Int(max(count, 0))) + [getegid()] {
            if let entry = getgrgid(group) { user.groups.insert(String(cString: entry.pointee.gr_name)) }
        }
        return user
    }

    /// Whether the processes of others can be seen: not without /proc, nor where it hides them from this user.
    static var seesProcesses: Bool { access("/proc/1/comm", R_OK) == 0 }

    /// Whether a process with this name is running; the kernel keeps only 15 characters of it. nil when that cannot be seen.
    static func runs(_ name: String) -> Bool? {
        guard seesProcesses else { return nil }
        let wanted = String(name.prefix(15))
        return list("/proc").contains { entry in
            entry.allSatisfy(\.isNumber) && text("/proc/\(entry)/comm") == wanted + "\n"
        }
    }

    static func clock() -> Facts.SystemClock {
        var clock = Facts.SystemClock()
        clock.isSynchronised = Clock.isSynchronised()
        clock.hasRTC = !list("/sys/class/rtc").isEmpty
        clock.isServiceKnown = seesProcesses
        clock.service = ["chronyd", "systemd-timesyncd", "ntpd"].first { runs($0) ?? false }
        if clock.service == "chronyd" {
            let files =
                ["/etc/chrony/chrony.conf", "/etc/chrony.conf"]
                + list("/etc/chrony/conf.d").map { "/etc/chrony/conf.d/\($0)" }
            let lines = files.compactMap(text).joined(separator: "\n").split(separator: "\n")
            clock.hasReferenceClock = lines.contains { $0.hasPrefix("refclock ") }
        }
        return clock
    }

    /// The path without symbolic links; nil when there is nothing.
    static func resolved(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    /// The id of the installation, as beekond keeps it in its state directory; nil before its first start, and for who may not
    /// read it.
    static func installID(in directory: String) -> String? {
        struct Identity: Decodable {
            var installID: String
        }
        let descriptor = open(directory + "/identity.json", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // It has a few hundred bytes, and twice that during a separation.
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0,
            let found = try? JSONDecoder().decode(Identity.self, from: Data(bytes[..<count])),
            UUIDv7(found.installID) != nil
        else { return nil }
        return found.installID
    }

    static func disk(_ path: String) -> Facts.Disk? {
        var numbers = statvfs()
        guard statvfs(path, &numbers) == 0 else { return nil }
        let free = numbers.f_bavail.multipliedReportingOverflow(by: numbers.f_frsize)
        return Facts.Disk(
            freeBytes: free.overflow ? .max : Int64(clamping: free.partialValue),
            freeFiles: numbers.f_files == 0 ? nil : Int64(clamping: numbers.f_favail),
            // ST_RDONLY
            isReadOnly: numbers.f_flag & 1 != 0)
    }

    /// nil when gpsd does not read it from a device file.
    static func device(_ path: String) -> DeviceFile? {
        guard path.hasPrefix("/dev/") else { return nil }
        var status = stat()
        let exists = stat(path, &status) == 0
        let name = path.split(separator: "/").last ?? ""
        // The encoding of glibc's makedev, for device numbers of this size.
        let (major, minor) = (
            status.st_rdev >> 8 & 0xFFF, status.st_rdev & 0xFF | status.st_rdev >> 12 & 0xFFF00
        )
        let udev = text("/run/udev/data/c\(major):\(minor)") ?? ""
        let isShared = status.st_mode & S_IRGRP != 0
        return DeviceFile(
            path: path, exists: exists,
            looksLikeModem: name.hasPrefix("ttyUSB") || name.hasPrefix("ttyACM"),
            isIgnored: udev.contains("ID_MM_DEVICE_IGNORE=1"),
            group: isShared || !exists
                ? getgrgid(status.st_gid).map { String(cString: $0.pointee.gr_name) } ?? "\(status.st_gid)"
                : nil)
    }

    static func text(_ path: String) -> String? {
        (try? readFile(path, limit: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The names in a folder but those that begin with a full stop, sorted; none if it cannot be read.
    static func list(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
