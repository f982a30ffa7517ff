import Testing

@testable import Linux

@Suite("what the kernel says of devices") struct DeviceTests {
    @Test(
        "events",
        arguments: [
            ("add@/devices/a\0ACTION=add\0", DeviceMonitor.Event(action: "add", path: "/devices/a")),
            ("change@/devices/a@b", DeviceMonitor.Event(action: "change", path: "/devices/a@b")),
            ("libudev\0\u{FE}", nil), ("", nil), ("\0@", nil),
        ] as [(String, DeviceMonitor.Event?)])
    func events(text: String, expected: DeviceMonitor.Event?) {
        #expect(DeviceMonitor.event(in: Array(text.utf8)) == expected)
    }

    @Test("edges of a GPIO line") func edges() {
        var one = [UInt8](repeating: 0, count: 48)
        (one[0], one[8], one[20]) = (7, 1, 3)
        var two = one
        two[8] = 2
        var odd = one
        odd[8] = 3
        let found = GPIOInput.edges(in: one + two + odd + one.dropLast())
        #expect(
            found == [.init(isRising: true, sequence: 3, at: 7), .init(isRising: false, sequence: 3, at: 7)])
        #expect(GPIOInput.edges(in: []).isEmpty)
    }

    @Test("only a GPIO chip is opened as one") func otherDevices() {
        for (path, code) in [("/dev/null", 25), ("/etc/passwd", 25), ("/dev/nothing", 2)] as [(String, Int32)]
        {
            do throws(SystemError) {
                _ = try GPIOInput(chip: path, line: 0, isActiveLow: false, debounce: 0)
                Issue.record("\(path) was taken for a chip")
            } catch { #expect(error.code == code, "\(error)") }
        }
    }
}
