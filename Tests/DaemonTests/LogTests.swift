import Testing

@testable import Daemon

/// Events and their ids. A run of all tests sees in the logs that each event is logged by some test:
/// `etc/build/test`.
@Suite("the log")
struct LogTests {
    @Test("no two events share an id, whose form is the journal's")
    func ids() {
        let ids = Log.Event.allCases.map(\.rawValue)
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }
}
