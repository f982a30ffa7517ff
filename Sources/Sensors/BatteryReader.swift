import Glibc
internal import Linux
package import Tracking

/// The batteries that the machine runs on, as the kernel lists them in `/sys/class/power_supply`: those of the type Battery that
/// are not of the scope Device, which are those of mice and keyboards.
package enum BatteryReader {
    /// Supplies that are looked at; no machine has more.
    private static let limit = 64

    /// Looks now. Takes some microseconds, or milliseconds where an embedded controller is asked; a broken one may keep the
    /// thread.
    ///
    /// - Parameter root: replaces / in tests.
    /// - Returns: nil when there is none, or none that says how full it is.
    package static func read(root: String = "") -> Battery? {
        let folder = root + "/sys/class/power_supply"
        return Battery(names(in: folder).compactMap { reading(folder + "/" + $0) })
    }

    private static func names(in folder: String) -> [String] {
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while names.count < limit, let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func reading(_ folder: String) -> Battery.Reading? {
        guard word(folder + "/type") == "Battery", word(folder + "/scope") != "Device",
            word(folder + "/present") != "0", let percent = word(folder + "/capacity").flatMap({ Int($0) }),
            (0...100).contains(percent)
        else { return nil }
        return Battery.Reading(
            percent: percent, state: state(word(folder + "/status")),
            capacity: word(folder + "/energy_full").flatMap { Int64($0) }.map { Double($0) })
    }

    private static func state(_ word: String?) -> Battery.State {
        switch word {
        case "Discharging": .unplugged
        case "Charging": .charging
        case "Full": .full
        default: .unknown
        }
    }

    /// The first line of a file; nil when it cannot be read, as while a battery is being pulled out.
    private static func word(_ path: String) -> String? {
        guard let file = try? FileDescriptor.open(path, O_RDONLY | O_NONBLOCK),
            let bytes = try? file.read(upTo: 64)
        else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
