import Base
import DaemonConfiguration
import Linux
import Testing

@testable import Daemon

/// What a real reader does in one turn.
@Suite("a reader, turn by turn")
struct ReaderTurnTests {
    private let workshop: Workshop
    private let reader: Reader

    init() throws {
        workshop = try Workshop()
        reader = try #require(Reader(hub: workshop.hub, settings: Settings()))
        turn()
        _ = answered()
    }

    /// - Parameter seconds: that it has taken whenever it looks.
    private func turn(after seconds: Double = 0) {
        _ = reader.turn(now: instant(1), stopwatch: stopwatch(seconds), after: Rest())
        reader.endTurn()
    }

    private func answered() -> [Token] {
        workshop.hub.main.takeAll().compactMap { message in
            if case .completed(let token, .success) = message { token } else { nil }
        }
    }

    @Test("commands are carried out together while there is time, and one in each turn on a slow disk")
    func commands() {
        for (seconds, answers) in [(0.0, [[1, 2, 3], [], []]), (60, [[1], [2], [3]])] {
            for token in 1...3 { #expect(workshop.hub.reader.post(.setExtras(["a": "b"], token))) }
            for expected in answers {
                turn(after: seconds)
                #expect(answered() == expected)
            }
        }
    }
}
