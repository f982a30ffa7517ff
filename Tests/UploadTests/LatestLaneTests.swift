import Support
import Testing

@testable import Upload

@Suite("which location a live lane takes")
struct LatestLaneTests {
    private enum Step {
        case begin
        /// The newest location; whether it is news, and whether a request is made of it.
        case look(LatestLane.Number?, isNews: Bool, isTaken: Bool)
        case delivered
    }

    @Test(
        "each once, the newest alone, and one for each drain",
        arguments: [
            ("nothing since the start", [.begin, .look(nil, isNews: false, isTaken: false)]),
            (
                "once",
                [
                    .begin, .look(1, isNews: true, isTaken: true), .delivered,
                    .look(1, isNews: false, isTaken: false),
                    .begin, .look(1, isNews: false, isTaken: false),
                ]
            ),
            (
                "what came meanwhile waits for the next trigger",
                [
                    .begin, .look(1, isNews: true, isTaken: true), .delivered,
                    .look(4, isNews: true, isTaken: false),
                    .begin, .look(4, isNews: true, isTaken: true),
                ]
            ),
            (
                "after a failure, what is newest by then",
                [
                    .begin, .look(1, isNews: true, isTaken: true), .begin,
                    .look(9, isNews: true, isTaken: true),
                    .delivered, .begin, .look(9, isNews: false, isTaken: false),
                ]
            ),
            (
                "broken off, it is made again in the same drain",
                [
                    .begin, .look(1, isNews: true, isTaken: true), .look(2, isNews: true, isTaken: true),
                    .delivered,
                    .begin, .look(2, isNews: false, isTaken: false),
                ]
            ),
            (
                "what was deleted is not sent, and what comes after it is",
                [
                    .begin, .look(3, isNews: true, isTaken: true), .look(nil, isNews: false, isTaken: false),
                    .begin,
                    .look(4, isNews: true, isTaken: true),
                ]
            ),
        ] as [(String, [Step])])
    private func steps(_ name: String, _ steps: [Step]) {
        var lane = LatestLane()
        for step in steps {
            switch step {
            case .begin: lane.begin()
            case .look(let newest, let isNews, let isTaken):
                #expect(lane.isNews(newest) == isNews, "\(name)")
                let takes = lane.takes(newest)
                #expect(takes == isTaken, "\(name)")
            case .delivered: lane.delivered()
            }
        }
    }

    /// A year of odd answers: what is delivered only grows, and the last of all arrives once the server takes it.
    @Test("whatever happens, numbers ascend and the newest arrives", arguments: 1...20)
    func random(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var lane = LatestLane()
        var (newest, seen): (LatestLane.Number, [LatestLane.Number]) = (0, [])
        for step in 0..<500 {
            newest += Int.random(in: 0...2, using: &random)
            lane.begin()
            while lane.takes(newest > 0 ? newest : nil) {
                if random.chance(0.3), step < 499 { break }
                seen.append(newest)
                lane.delivered()
                newest += Int.random(in: 0...1, using: &random)
            }
        }
        #expect(seen == seen.sorted() && Set(seen).count == seen.count)
        #expect(newest - (seen.last ?? 0) <= 1)
    }
}
