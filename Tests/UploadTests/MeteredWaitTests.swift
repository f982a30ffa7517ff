import DaemonConfiguration
import Support
import Testing

@testable import Upload

@Suite("what waits while the route is metered") struct MeteredWaitTests {
    private static let home = RouteFacts(interface: "eth0", isDefault: true, isCalledMetered: false)

    @Test(
        "a route is metered by the name of its interface, or as NetworkManager says of the default route",
        arguments: [
            ("wwan0", true, false, true), ("wwan0", false, false, true), ("ppp12", true, false, true),
            ("eth0", true, false, false), ("eth0", true, true, true), ("eth0", false, true, false),
            (nil, true, true, false), (nil, true, false, false),
        ] as [(String?, Bool, Bool, Bool)])
    func facts(interface: String?, isDefault: Bool, isCalledMetered: Bool, isMetered: Bool) {
        let facts = RouteFacts(
            interface: interface, isDefault: isDefault, isCalledMetered: isCalledMetered)
        #expect(facts.isMetered(Settings.Metered()) == isMetered)
    }

    @Test(
        "patterns are those of the shell",
        arguments: [
            ("wwan0", "wwan*", true), ("wwan", "wwan*", true), ("wwa", "wwan*", false),
            ("wwan0", "wwan?", true),
            ("wwan10", "wwan?", false), ("usb0", "*", true), ("usb0", "?sb*", true), ("usb0", "usb", false),
            ("enp0s3u1", "*s*u?", true), ("enp0s3u12", "*s*u?", false), ("eth0.5", "eth0.5", true),
            ("eth0x5", "eth0.5", false), ("", "*", true), ("", "?", false), ("wwan0", "WWAN*", false),
            ("aaaaaaaaaaaaaab", "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ac", false), ("abab", "*ab", true),
        ])
    func patterns(name: String, pattern: String, matches: Bool) {
        #expect(RouteFacts.matches(name, pattern: pattern) == matches)
    }

    /// A question at a moment: is the route metered, how overdue is it; and what is expected.
    struct Question: Sendable, CustomTestStringConvertible {
        var at: Double
        var isMetered = true
        var overdue = 0.0
        var expected: Double?
        /// Everything was delivered before it.
        var isDone = false
        var testDescription: String { "at \(at)" }
    }

    @Test(
        "as long as the patience lasts, and then until everything is delivered",
        arguments: [
            // For ever: looked at again each minute.
            (
                0,
                [.init(at: 0, expected: 60), .init(at: 7, expected: 67), .init(at: 1e8, expected: 1e8 + 60)]
            ),
            // A free route at once.
            (0, [.init(at: 0, expected: 60), .init(at: 1, isMetered: false), .init(at: 2, expected: 62)]),
            // The end of the patience is not missed, and a failed attempt is followed by others.
            (
                100,
                [
                    .init(at: 0, expected: 60), .init(at: 60, expected: 100), .init(at: 99.9, expected: 100),
                    .init(at: 100), .init(at: 102), .init(at: 5000),
                    .init(at: 6000, expected: 6060, isDone: true), .init(at: 6100),
                ]
            ),
            // A free route ends the wait: the next one begins anew.
            (
                100,
                [
                    .init(at: 0, expected: 60), .init(at: 90, isMetered: false),
                    .init(at: 95, expected: 155), .init(at: 194, expected: 195), .init(at: 195),
                ]
            ),
            // What waited before a restart has waited.
            (
                100,
                [
                    .init(at: 0, overdue: 70, expected: 30), .init(at: 29, overdue: 99, expected: 30),
                    .init(at: 30),
                ]
            ),
            (100, [.init(at: 0, overdue: 100)]),
            // A clock that was wrong shortens nothing below zero.
            (100, [.init(at: 0, overdue: -50, expected: 60), .init(at: 100)]),
        ] as [(Double, [Question])])
    func waits(patience: Double, questions: [Question]) {
        var wait = MeteredWait()
        for question in questions {
            if question.isDone { wait.done() }
            let verdict = wait.decide(
                isMetered: question.isMetered, overdue: question.overdue, patience: patience,
                now: Rig.instant(question.at))
            #expect(
                verdict == question.expected.map { .wait(until: Rig.instant($0)) } ?? .send,
                "\(question.testDescription)")
        }
    }
}
