internal import Glibc
internal import Linux
internal import Tracking

/// What this machine is.
enum Machine {
    /// The maker's name for it, from DMI or the device tree; nil when neither says.
    static func model() -> String? {
        // Not /proc/device-tree, a link to the latter: the service sees nothing of /proc but processes.
        for path in ["/sys/class/dmi/id/product_name", "/sys/firmware/devicetree/base/model"] {
            guard let bytes = try? readFile(path, limit: 4096) else { continue }
            let printable = bytes.filter { $0 >= 0x20 && $0 < 0x7F }
            let text = String(decoding: printable, as: UTF8.self).split(separator: " ").joined(separator: " ")
            if !text.isEmpty { return text }
        }
        return nil
    }

    /// Replaces / where the machine is looked at; empty: / itself. Tests have machines of their own.
    static var root: String { getenv("BEEKOND_MACHINE_ROOT").map { String(cString: $0) } ?? "" }

    /// The present boot. The service sees nothing of /proc but processes, so its unit says it; where nobody does, each run
    /// of the daemon is taken for one.
    static func bootID(_ random: RandomSource) -> BootID {
        let unit = getenv("BEEKOND_BOOT_ID").map { String(cString: $0) }
        if let id = unit.flatMap({ BootID($0) }) { return id }
        if let id = text("/proc/sys/kernel/random/boot_id").flatMap({ BootID($0) }) { return id }
        return BootID(high: random.next(), low: random.next())
    }

    /// What identifies the machine, as far as it can be read today: digests, because nobody else needs the values.
    ///
    /// - Parameter root: replaces /; tests have machines of their own.
    static func signs(root: String) -> Installation.Signs {
        var signs = Installation.Signs()
        let path = root + "/etc/machine-id"
        if !isTransient(path, root) {
            signs[Installation.machineID] = text(path).flatMap(Installation.machineID(in:))
        }
        for (name, file) in serials {
            signs[name] = text(root + file).flatMap { Installation.serial(in: $0) }
        }
        return signs
    }

    /// On most PCs only root can read the first three.
    private static let serials = [
        ("product_uuid", "/sys/class/dmi/id/product_uuid"),
        ("product_serial", "/sys/class/dmi/id/product_serial"),
        ("board_serial", "/sys/class/dmi/id/board_serial"),
        ("serial-number", "/sys/firmware/devicetree/base/serial-number"),
        ("soc_serial", "/sys/devices/soc0/serial_number"),
    ]

    private static func text(_ path: String) -> String? {
        (try? readFile(path, limit: 4096)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// File systems that forget, or may.
    private static let forgetful: Set<String> = ["tmpfs", "ramfs", "overlay"]

    /// Whether that id may last only until the next boot: it lies in /run or on a file system that forgets, or systemd
    /// has mounted it over a file that it cannot write. What cannot be told proves nothing either.
    private static func isTransient(_ path: String, _ root: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return false }
        defer { free(resolved) }
        if let top = realpath(root + "/run", nil) {
            defer { free(top) }
            if String(cString: resolved).hasPrefix(String(cString: top) + "/") { return true }
        }
        let table = (try? readFile("/proc/self/mountinfo", limit: 1 << 20)).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard let table else { return true }
        let place = String(cString: resolved)
        if Installation.isMountPoint(place, table: table) { return true }
        // Where that mount was made in another namespace, only the content shows it.
        let ids = [path, root + "/run/machine-id"].map { text($0).flatMap(Installation.machineID(in:)) }
        if let id = ids[0], id == ids[1] { return true }
        // Tests have their machines wherever there is room.
        return root.isEmpty
            && Installation.fileSystem(of: place, table: table).map(forgetful.contains) ?? true
    }
}
