import Accounts
import Base
import ServerStore
import Testing

@testable import Fences

@Suite("how far a vehicle is with its fences") struct FenceProgressTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    private static func fence(_ name: String, _ number: Int64, radius: Double = 100) -> FenceEntry {
        var shape = FenceShape()
        (shape.latitude, shape.longitude, shape.radius) = (48, 11, radius)
        var targets = FenceTargets()
        targets.isEverybody = true
        return FenceEntry(
            number: number, name: name, shape: shape, targets: targets, author: "ada", created: start,
            changed: start)
    }

    private static func entries(_ count: Int) -> [FenceBook.Entry] {
        let fences = (1...Int64(count)).map { fence("fence number \($0)", $0) }
        return FenceBook(revision: 1, isUsed: true, fences: fences).entries(of: 1, in: nil)
    }

    private static func order(_ target: [FenceBook.Entry], _ end: FenceProgress.Order.End)
        -> FenceProgress.Order
    {
        FenceProgress.Order(
            number: 1, added: Dictionary(target.map { ($0.name, $0.fingerprint) }) { $1 }, end: end)
    }

    @Test("twenty orders an hour, and the twenty-first when it is over") func hour() {
        let target = Self.entries(1000)
        var progress = FenceProgress()
        var (now, given) = (Self.start, 0)
        while given < FenceProgress.mostInHour {
            let drafts = progress.next(target, for: .init(), room: 16, now: now)
            #expect(!drafts.isEmpty)
            #expect(drafts.map(\.arguments.utf8.count).reduce(0, +) <= FenceProgress.longestList)
            given += drafts.count
            now = now.advanced(bySeconds: 1)
        }
        #expect(given == FenceProgress.mostInHour)
        #expect(
            progress.next(target, for: .init(), room: 16, now: Self.start.advanced(bySeconds: 3599)).isEmpty)
        #expect(
            !progress.next(target, for: .init(), room: 16, now: Self.start.advanced(bySeconds: 3600)).isEmpty)
    }

    @Test("a clock that is set back holds nothing up for ever") func clock() {
        let target = Self.entries(1000)
        var progress = FenceProgress()
        for _ in 0..<20 { _ = progress.next(target, for: .init(), room: 16, now: Self.start) }
        let before = Self.start.advanced(bySeconds: -10 * 86_400)
        #expect(!progress.next(target, for: .init(), room: 16, now: before).isEmpty)
    }

    @Test("no more than there is room for") func room() {
        let target = Self.entries(1000)
        var progress = FenceProgress()
        #expect(progress.next(target, for: .init(), room: 0, now: Self.start).isEmpty)
        #expect(progress.next(target, for: .init(), room: 1, now: Self.start).count == 1)
    }

    @Test("what a vehicle refuses as it is comes again after a day, or when it is another") func refusal() {
        let target = Self.entries(2)
        var progress = FenceProgress()
        _ = progress.next(target, for: .init(), room: 16, now: Self.start)
        progress.settle(Self.order(target, .refused("exists: fence number 1")), now: Self.start)
        let others = progress.next(target, for: .init(), room: 16, now: Self.start)
        #expect(others.count == 1)
        #expect(others.first?.arguments.contains("fence number 1") == false)
        progress.settle(Self.order([target[1]], .done), now: Self.start)
        #expect(progress.isSettled(target))
        let later = Self.start.advanced(bySeconds: 86_400)
        #expect(progress.next(target, for: .init(), room: 16, now: later).count == 1)
        var changed = FenceProgress(text: progress.text)
        #expect(changed == progress)
        let book = FenceBook(
            revision: 2, isUsed: true,
            fences: [Self.fence("fence number 1", 1, radius: 7), Self.fence("fence number 2", 2)])
        changed.refused = [
            "fence number 1": .init(fingerprint: target[0].fingerprint, since: 0, reason: "exists")
        ]
        #expect(
            changed.next(book.entries(of: 1, in: nil), for: .init(), room: 16, now: Self.start).count == 1)
    }

    @Test("what fails for another reason waits for an hour") func failure() {
        let target = Self.entries(1)
        var progress = FenceProgress()
        _ = progress.next(target, for: .init(), room: 16, now: Self.start)
        progress.settle(Self.order(target, .refused("failed: the disk is full")), now: Self.start)
        #expect(progress.next(target, for: .init(), room: 16, now: Self.start).isEmpty)
        #expect(progress.trouble == "failed: the disk is full")
        #expect(
            progress.next(target, for: .init(), room: 16, now: Self.start.advanced(bySeconds: 3600)).count
                == 1)
    }

    @Test("what is damaged in the database is as nothing") func damage() {
        #expect(FenceProgress(text: "{") == FenceProgress())
        #expect(FenceProgress(text: #"{"told":{"a":-1}}"#) == FenceProgress())
        #expect(FenceShape(members: #""latitude":"#) == nil)
    }

    @Test("a vehicle has a thousand fences at most, those that were drawn first") func most() {
        #expect(Self.entries(1200).map(\.number) == Array(1...1000))
    }
}
