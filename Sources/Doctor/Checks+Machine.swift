internal import ControlProtocol
internal import ControlTool

extension Checks {
    /// Bytes of free space below which the database soon runs out.
    private static let leastSpace: Int64 = 64_000_000
    private static let leastFiles: Int64 = 100

    private static let chrony =
        "apt install chrony, with gpsd as its source: refclock SHM 0 refid GPS in /etc/chrony/chrony.conf"

    static func clock(_ facts: Facts) -> Finding {
        let by = facts.clock.service.map { " by \($0)" } ?? ""
        if facts.clock.isSynchronised { return .ok("system clock", "synchronised" + by) }
        if facts.clock.service == "chronyd" {
            return .failed(
                "system clock", "chronyd is running but has not set it yet",
                "chronyc sources shows what it is waiting for")
        }
        if let service = facts.clock.service {
            return .failed(
                "system clock", "\(service) is running but has not set it yet", "timedatectl timesync-status")
        }
        guard facts.clock.isServiceKnown else {
            return .failed(
                "system clock", "not synchronised; what sets it cannot be seen in /proc",
                "timedatectl and chronyc tracking tell, if they are there")
        }
        return .failed(
            "system clock", "nothing sets it", chrony)
    }

    static func clockSource(_ facts: Facts) -> Finding {
        let name = "clock at boot"
        let clock = facts.clock
        if clock.hasRTC { return .ok(name, "battery-backed") }
        if clock.hasReferenceClock ?? false {
            return .ok(name, "no battery, but chrony has a reference clock")
        }
        guard clock.isServiceKnown else {
            return .skipped(name, "no battery; what sets it cannot be seen in /proc")
        }
        guard let service = clock.service else {
            return .failed(
                name, "no battery and no NTP: wrong until something sets it",
                clock.isSynchronised ? chrony : "chrony with gpsd as its source, as above")
        }
        return .skipped(
            name, "no battery clock: wrong until \(service) finds a network",
            "chrony with gpsd as its source (refclock SHM 0 refid GPS) needs none")
    }

    static func writable(_ facts: Facts) -> Finding {
        if let store = facts.status?.store {
            if store.degraded {
                return .failed(
                    "storage", "beekond cannot write in \(facts.stateDirectory)",
                    store.lastError ?? "free space on its disk, or repair it")
            }
            let lost = store.droppedUnsent + store.refused
            if lost > 0, facts.status?.degraded.contains("loss") ?? false {
                return .failed(
                    "storage", "\(Quantity.count(lost)) locations were lost before they were uploaded",
                    "bring the upload back, raise store.max_rows, or give beekond a larger disk")
            }
            return .ok(
                "storage",
                "\(Quantity.count(store.locations)) locations, \(Quantity.bytes(store.bytes)), in "
                    + facts.stateDirectory)
        }
        guard let disk = facts.disk else {
            return .skipped("storage", "there is no \(facts.stateDirectory) yet")
        }
        if disk.isReadOnly {
            return .failed(
                "storage", "\(facts.stateDirectory) is mounted read-only",
                "see dmesg for its disk, then mount -o remount,rw")
        }
        return .skipped("storage", "unknown without beekond")
    }

    static func space(_ facts: Facts) -> Finding {
        guard let disk = facts.disk else {
            return .skipped("disk space", "there is no \(facts.stateDirectory) yet")
        }
        if let files = disk.freeFiles, files < leastFiles {
            return .failed(
                "disk space", "only \(files) more files can be created",
                "delete small files on that disk (df -i)")
        }
        let free = Quantity.bytes(Int(disk.freeBytes))
        guard disk.freeBytes < leastSpace else { return .ok("disk space", "\(free) free") }
        return .failed(
            "disk space", "only \(free) free where \(facts.stateDirectory) is",
            "make room: journalctl --vacuum-size=50M")
    }
}
