import Glibc
import Linux
import Support
import Testing
import Tracking

@testable import Sensors

@Suite("the machine's batteries") struct BatteryReaderTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func set(_ name: String, _ facts: [String: String]) throws {
        let folder = directory.path + "/sys/class/power_supply/" + name
        var path = ""
        for part in folder.split(separator: "/") {
            path += "/" + part
            mkdir(path, 0o755)
        }
        for (fact, text) in facts {
            let file = try FileDescriptor.open(folder + "/" + fact, O_WRONLY | O_CREAT | O_TRUNC)
            try file.writeAll(Array((text + "\n").utf8))
        }
    }

    private var found: Battery? { BatteryReader.read(root: directory.path) }

    @Test("none: no folder, an empty one, other supplies, one that does not say how full it is")
    func none() throws {
        #expect(found == nil)
        try set("AC", ["type": "Mains", "online": "1", "capacity": "50"])
        try set("BAT0", ["type": "Battery", "status": "Charging"])
        try set("BAT1", ["type": "Battery", "capacity": "101"])
        try set("BAT2", ["type": "Battery", "capacity": "many"])
        try set("BAT3", ["type": "Battery", "capacity": "50", "present": "0"])
        #expect(found == nil)
    }

    @Test(
        "what the kernel says of charging",
        arguments: [
            ("Charging", .charging), ("Discharging", .unplugged), ("Full", .full), ("Not charging", .unknown),
            ("Unknown", .unknown), ("", .unknown),
        ] as [(String, Battery.State)])
    func states(word: String, expected: Battery.State) throws {
        try set("BAT0", ["type": "Battery", "capacity": "83", "status": word])
        #expect(found == Battery(percent: 83, state: expected))
    }

    @Test("those of mice do not count, whatever they are called; several are weighted")
    func several() throws {
        try set(
            "hidpp_battery_0", ["type": "Battery", "scope": "Device", "capacity": "5", "status": "Charging"])
        #expect(found == nil)
        try set(
            "BAT0",
            [
                "type": "Battery", "scope": "System", "capacity": "80", "status": "Discharging",
                "energy_full": "50000000",
            ])
        try set("BAT1", ["type": "Battery", "capacity": "20", "energy_full": "150000000"])
        #expect(found == Battery(percent: 35, state: .unplugged))
    }
}
