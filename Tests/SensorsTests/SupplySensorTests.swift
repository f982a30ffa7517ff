import Base
import Glibc
import Linux
import Support
import Testing
import Tracking

@testable import Sensors

/// A machine with power supplies, and a kernel that speaks of them.
private final class FakePower {
    let directory: TemporaryDirectory
    private var end: Int32 = -1

    init() throws {
        directory = try TemporaryDirectory()
    }

    deinit { if end >= 0 { close(end) } }

    func hear() throws(SystemError) -> DeviceMonitor {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw SystemError("socketpair") }
        end = pair[1]
        return DeviceMonitor(owning: FileDescriptor(owning: pair[0]))
    }

    func set(_ name: String, _ text: String?) throws {
        let folder = directory.path + "/sys/class/power_supply/" + name
        var path = ""
        for part in folder.split(separator: "/") {
            path += "/" + part
            mkdir(path, 0o755)
        }
        guard let text else { return }
        let file = try FileDescriptor.open(folder + "/online", O_WRONLY | O_CREAT | O_TRUNC)
        try file.writeAll(Array(text.utf8))
    }

    func say(_ text: String) {
        let bytes = Array(text.utf8)
        precondition(write(end, bytes, bytes.count) == bytes.count)
    }

    func say(changed name: String) {
        say(
            "change@/devices/platform/\(name)-x/power_supply/\(name)\0ACTION=change\0SUBSYSTEM=power_supply\0"
        )
    }
}

@Suite("a power supply") struct SupplySensorTests {
    private let power: FakePower

    init() throws { power = try FakePower() }

    private func sensor(_ name: String = "ACAD", debounce: Double = 2) -> SupplySensor {
        SupplySensor(name, root: power.directory.path, debounce: debounce) {
            [power] () throws(SystemError) in try power.hear()
        }
    }

    @Test("its level is read when the kernel says that it has changed") func changes() throws {
        try power.set("ACAD", "1\n")
        var sensor = sensor()
        #expect(sensor.run(now: booted(0)) == [.level(.init(isOn: true, at: booted(0)))])
        #expect(sensor.deadline == booted(60))
        try power.set("ACAD", "0\n")
        // Nothing is said of it yet, and much of others.
        power.say(changed: "BAT0")
        power.say("add@/devices/usb1")
        #expect(sensor.run(now: booted(5)).isEmpty && sensor.deadline == booted(60))
        power.say(changed: "ACAD")
        #expect(sensor.run(now: booted(6)).isEmpty && sensor.deadline == booted(8))
        #expect(sensor.run(now: booted(8)) == [.level(.init(isOn: false, at: booted(6)))])
        // 2: at a voltage that has been asked for.
        try power.set("ACAD", "2\n")
        power.say("no event at all")
        #expect(sensor.run(now: booted(9)).isEmpty)
        #expect(sensor.run(now: booted(11)) == [.level(.init(isOn: true, at: booted(9)))])
    }

    @Test("what is missing is told once, with what to do, and found when it comes") func missing() throws {
        try power.set("BAT0", nil)
        for (name, advice) in [("ACAD", "there is no power supply ACAD"), ("BAT0", "as batteries do not")] {
            var sensor = sensor(name)
            guard case .lost(let text)? = sensor.run(now: booted(0)).first else {
                Issue.record("nothing was told of \(name)")
                return
            }
            #expect(text.contains(advice), "\(text)")
            #expect(sensor.run(now: booted(60)).isEmpty)
            try power.set(name, "1\n")
            power.say("add@/devices/x/power_supply/\(name)")
            #expect(sensor.run(now: booted(61)) == [.level(.init(isOn: true, at: booted(61)))])
        }
        try power.set("ODD", "yes\n")
        var sensor = sensor("ODD")
        guard case .lost(let text)? = sensor.run(now: booted(0)).first else {
            Issue.record("nothing was told")
            return
        }
        #expect(text.contains("check vehicle.supply"))
    }

    @Test("a level that bounces counts once it has held") func bounce() throws {
        try power.set("ACAD", "1\n")
        var sensor = sensor()
        _ = sensor.run(now: booted(0))
        for step in 0..<10 {
            try power.set("ACAD", step.isMultiple(of: 2) ? "0\n" : "1\n")
            power.say(changed: "ACAD")
            #expect(sensor.run(now: booted(10 + Double(step))).isEmpty)
        }
        #expect(sensor.run(now: booted(30)).isEmpty)
    }
}
