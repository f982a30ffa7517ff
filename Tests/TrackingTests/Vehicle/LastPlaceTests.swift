import Base
import Testing

@testable import Tracking

@Suite("where the vehicle stands with its ignition off")
struct LastPlaceTests {
    private let first: UUIDv7
    private let second: UUIDv7

    init() throws {
        first = try #require(UUIDv7(bytes: Array(repeating: 1, count: 16)))
        second = try #require(UUIDv7(bytes: Array(repeating: 2, count: 16)))
    }

    /// Whether it is to be uploaded, of these that have been stored.
    private func found(_ place: inout LastPlace, among ids: UUIDv7...) -> Bool { place.isAmong(stored: ids) }

    @Test("the first fix after the edge, once it is stored, and once")
    func once() {
        var place = LastPlace()
        place.decided(first, now: booted(1))
        #expect(!found(&place, among: first))
        place.expect(now: booted(2))
        #expect(!found(&place, among: first))
        place.decided(first, now: booted(3))
        place.decided(second, now: booted(4))
        // The disk may take its time.
        #expect(!found(&place))
        #expect(!found(&place, among: second))
        #expect(found(&place, among: first, second))
        #expect(!found(&place, among: first, second))
    }

    @Test("for so long, and no longer", arguments: [(10.0, true), (10.001, false), (3600, false)])
    func patience(seconds: Double, isUploaded: Bool) {
        var place = LastPlace()
        place.expect(now: booted(100))
        place.decided(first, now: booted(100 + seconds))
        #expect(found(&place, among: first) == isUploaded)
        // A later fix takes its place in no case.
        place.decided(second, now: booted(101 + seconds))
        #expect(!found(&place, among: second))
    }

    @Test("a fix while nothing is tracked any more ends it")
    func untracked() {
        var place = LastPlace()
        place.expect(now: booted(0))
        place.decided(nil, now: booted(1))
        place.decided(first, now: booted(2))
        #expect(!found(&place, among: first))
    }

    @Test("another edge begins anew")
    func again() {
        var place = LastPlace()
        place.expect(now: booted(0))
        place.decided(first, now: booted(1))
        place.expect(now: booted(9))
        place.decided(second, now: booted(19))
        #expect(!found(&place, among: first))
        #expect(found(&place, among: second))
    }
}
