import Base
import Testing

@testable import Tracking

/// A fence of 100 m, whose margin is 7.5 m at an accuracy of 5 m. The vehicle is known to be where `isInside` says,
/// and was seen there a second before the first step. A polygon that is nearly the same circle must agree.
private func events(
    _ isInside: Bool?, _ steps: [Seen], radius: Double = 100, from start: Double? = nil
) throws -> [String] {
    let before = start ?? (isInside == true ? 0 : 5000)
    let centre = place(north: 0)
    let found = try [geofence(radius: radius), rounded("home", centre, radius: radius, corners: 64)].map {
        fence in
        var fences = Geofences([.init(key: 1, fence: fence, isInside: isInside)])
        return fences.take([Seen(-1, before)] + steps)
    }
    #expect(found[0] == found[1], "the polygon does not agree with the circle")
    return found[0]
}

/// One fix a second, always at the same place.
private func stay(
    _ seconds: ClosedRange<Int>, _ north: Double, _ accuracy: Double? = 5, parked: Bool = false
) -> [Seen] {
    seconds.map { Seen(Double($0), north, accuracy, parked: parked) }
}

@Test(
    "an entry takes two fixes in a row inside, a second apart",
    arguments: [
        ([Seen(0, 99), Seen(1, 99)], ["enter 0"]),
        ([Seen(0, 99)], []),
        ([Seen(0, 99), Seen(0.9, 99)], []),
        ([Seen(0, 99), Seen(0.5, 99), Seen(1, 99)], ["enter 0"]),
        ([Seen(0, 99), Seen(1, 101), Seen(2, 99)], []),
        ([Seen(0, 101), Seen(1, 101), Seen(2, 101)], []),
        // Accuracy is irrelevant when there are two in a row.
        ([Seen(0, 99, 80), Seen(1, 99, 80)], ["enter 0"]),
        ([Seen(0, 99, nil), Seen(1, 99, nil)], ["enter 0"]),
        // Fixes that do not count as evidence are treated as if they had not arrived.
        ([Seen(0, 99), Seen(0.5, 5000, 101), Seen(1, 99)], ["enter 0"]),
        ([Seen(0, 99), Seen(0.5, 5000, implausible: true), Seen(1, 99)], ["enter 0"]),
        ([Seen(0, 99), Seen(1, 99, 101)], []),
        ([Seen(0, 99), Seen(1, 99, implausible: true)], []),
        ([Seen(0, 99, parked: true), Seen(1, 99, parked: true), Seen(2, 99)], []),
    ] as [([Seen], [String])])
func entry(steps: [Seen], expected: [String]) throws {
    #expect(try events(false, steps) == expected)
}

@Test(
    "an exit takes ten seconds and three fixes beyond the margin",
    arguments: [
        (stay(0...10, 108), ["exit 0"]),
        (stay(0...9, 108), []),
        // 107 m lie within the margin of one and a half times 5 m.
        (stay(0...60, 107), []),
        (stay(0...4, 108) + [Seen(5, 107)] + stay(6...15, 108), []),
        (stay(0...4, 108) + [Seen(5, 107)] + stay(6...16, 108), ["exit 6"]),
        ([Seen(0, 108), Seen(9, 108), Seen(18, 108)], ["exit 0"]),
        ([Seen(0, 108), Seen(9, 108)], []),
        // The margin is at most the larger of the radius and 100 m.
        (stay(0...10, 199, 99), []),
        (stay(0...10, 201, 99), ["exit 0"]),
        // Unknown accuracy counts as 10 m.
        (stay(0...10, 114, nil), []),
        (stay(0...10, 116, nil), ["exit 0"]),
        (stay(0...20, 5000, 101), []),
        // Time that runs backwards restarts the count.
        (stay(0...8, 108) + [Seen(7.5, 108)] + stay(8...17, 108), []),
    ] as [([Seen], [String])])
func exit(steps: [Seen], expected: [String]) throws {
    #expect(try events(true, steps) == expected)
}

@Test(
    "after a gap of ten seconds one fix decides, with wider margins",
    arguments: [
        (false, [Seen(9, 94)], ["enter 9"]),
        (false, [Seen(8.9, 94)], []),
        (false, [Seen(9, 96)], []),
        // Not accurate enough to decide alone, it counts as the first of two.
        (false, [Seen(9, 96), Seen(10, 96)], ["enter 9"]),
        (false, [Seen(9, 91, nil)], []),
        (false, [Seen(9, 89, nil)], ["enter 9"]),
        (true, [Seen(9, 116)], ["exit 9"]),
        (true, [Seen(8.9, 116)], []),
        (true, [Seen(9, 114)], []),
        (true, [Seen(9, 131, nil)], ["exit 9"]),
        (true, [Seen(9, 129, nil)], []),
        // A fix that does not count as evidence does not end the gap.
        (true, [Seen(4, 116, 101), Seen(9, 116)], ["exit 9"]),
        (true, [Seen(4, 116, implausible: true), Seen(9, 116)], ["exit 9"]),
        (false, [Seen(9, 94, parked: true)], []),
        (true, [Seen(9, 5000, parked: true)], []),
        // After a step back in time the length of the gap is unknown.
        (true, [Seen(-1.5, 116)], ["exit -2"]),
    ] as [(Bool, [Seen], [String])])
func gap(isInside: Bool, steps: [Seen], expected: [String]) throws {
    #expect(try events(isInside, steps) == expected)
}

@Test("the first fix after a start decides like one after a gap")
func afterStart() throws {
    for (isInside, north, expected) in [
        (true, 116.0, ["exit 0"]), (true, 114, []), (false, 94, ["enter 0"]), (false, 96, []),
        (true, 0, []), (false, 5000, []),
    ] {
        var fences = Geofences([.init(key: 1, fence: try geofence(), isInside: isInside)])
        #expect(fences.take([Seen(0, north)]) == expected)
    }
}

@Test(
    "a parked vehicle has left only after a minute beyond four times the accuracy",
    arguments: [
        (stay(0...60, 121, parked: true), ["exit 0"]),
        (stay(0...59, 121, parked: true), []),
        (stay(0...120, 119, parked: true), []),
        (
            stay(0...30, 121, parked: true) + stay(31...31, 119, parked: true)
                + stay(32...91, 121, parked: true), []
        ),
        (stay(0...60, 141, nil, parked: true), ["exit 0"]),
        (stay(0...60, 139, nil, parked: true), []),
        // Evidence gathered while parked does not count afterwards.
        (stay(0...30, 121, parked: true) + stay(31...40, 121), []),
        (stay(0...30, 121, parked: true) + stay(31...41, 121), ["exit 31"]),
        (stay(0...8, 121) + stay(9...9, 121, parked: true) + stay(10...19, 121), []),
    ] as [([Seen], [String])])
func parked(steps: [Seen], expected: [String]) throws {
    #expect(try events(true, steps) == expected)
}

@Test(
    "a fence passed through at speed gives an entry and an exit, interpolated",
    arguments: [
        // 400 m in 4 s: in at −100 m, out at +100 m.
        ([Seen(0, -200), Seen(4, 200)], ["enter 1", "exit 3"], 100),
        // One fix inside, with the paths before and after it.
        ([Seen(0, -260), Seen(3, 40), Seen(6, 340)], ["enter 2", "exit 4"], 100),
        // Only once.
        ([Seen(0, -200), Seen(4, 200), Seen(5, 300), Seen(6, 400)], ["enter 1", "exit 3"], 100),
        // There and back.
        ([Seen(0, -200), Seen(4, 200), Seen(8, -200)], ["enter 1", "exit 3", "enter 5", "exit 7"], 100),
        // The centre is cleared by 5 m, but not by 6.
        ([Seen(0, -60, 4), Seen(4, 60, 4)], ["enter 2", "exit 2"], 5),
        ([Seen(0, -60, 4), Seen(4, 60, 6)], [], 5),
        ([Seen(0, -60, 6), Seen(4, 60, 4)], [], 5),
        // The path between fixes more than ten seconds apart is unknown.
        ([Seen(0, -220), Seen(10, 180)], ["enter 3", "exit 8"], 100),
        ([Seen(0, -200), Seen(10.1, 200)], [], 100),
        // One fix inside, and nothing known afterwards.
        ([Seen(0, -200), Seen(4, 50), Seen(14.1, 200)], [], 100),
        ([Seen(0, -200), Seen(4, 200, parked: true)], [], 100),
        ([Seen(0, -200), Seen(4, 200, implausible: true)], [], 100),
        ([Seen(0, -200), Seen(4, 200, 101)], [], 100),
        // The fix in between is too inaccurate for this fence; without it the path leads past.
        ([Seen(0, -200), Seen(2, 900, 101), Seen(4, 200)], ["enter 1", "exit 3"], 100),
    ] as [([Seen], [String], Double)])
func passage(steps: [Seen], expected: [String], radius: Double) throws {
    #expect(try events(false, steps, radius: radius, from: -5000) == expected)
}

@Test("no passage is detected on a path that an exit has judged already")
func passageAfterExit() throws {
    // Ten seconds are a gap, yet the path is still known. The gap decides the exit, and the path began inside.
    #expect(try events(true, [Seen(0, 0), Seen(10, 200), Seen(11, 300)]) == ["exit 10"])
}

@Test(
    "a new fence gives an entry when the first decision is inside, and nothing when it is outside",
    arguments: [
        ([Seen(0, 50), Seen(1, 50)], ["enter 0"], true),
        (stay(0...10, 200), [], false),
        // Still undecided: passing through decides nothing.
        ([Seen(0, -200), Seen(4, 200)], [], nil),
        (stay(0...10, 200) + [Seen(11, 50), Seen(12, 50)], ["enter 11"], true),
    ] as [([Seen], [String], Bool?)])
func newFence(steps: [Seen], expected: [String], isInside: Bool?) throws {
    var fences = Geofences()
    #expect(fences.add([try geofence("other", north: 100_000)]) == nil)
    _ = fences.take([Seen(-1, 5000)])
    #expect(fences.add([try geofence()]) == nil)
    #expect(fences.take(steps) == expected)
    #expect(fences.items.first { $0.fence.id == "home" }?.isInside == isInside)
}

@Test("crossings that are not recorded change the state all the same")
func silentFences() throws {
    var fences = Geofences()
    _ = fences.add([
        try geofence("in", notifiesOnExit: false), try geofence("out", notifiesOnEntry: false),
        try geofence("never", notifiesOnEntry: false, notifiesOnExit: false),
    ])
    var verdict = Geofences.Outcome()
    for step in stay(0...1, 0) + stay(10...22, 300) + stay(30...31, 0) {
        let next = fences.judge(step.fix)
        verdict.crossings += next.crossings
        verdict.changes += next.changes
    }
    #expect(verdict.crossings.map { "\($0.geofence) \($0.kind)" } == ["in enter", "out exit", "in enter"])
    #expect(verdict.changes.filter { $0.key == 3 }.map(\.isInside) == [true, false, true])
}

@Test("an identical circle keeps its state; a different one is undecided and gets a new key")
func replacedFences() throws {
    var fences = Geofences()
    _ = fences.add([try geofence("a"), try geofence("b")])
    _ = fences.take(stay(0...1, 0))
    _ = fences.add([try geofence("a", notifiesOnExit: false), try geofence("b", radius: 101)])
    let items = fences.items
    #expect(items.map(\.isInside) == [true, nil])
    #expect(items.map(\.key) == [1, 3])
    #expect(items.map(\.fence.notifiesOnExit) == [false, true])
    #expect(Geofences(items, nextKey: fences.nextKey).items == items)
}

@Test("what a change leaves is told: what is removed, has another shape, or reports no exits any more")
func leftFences() throws {
    var fences = Geofences()
    _ = fences.add([
        try geofence("a"), try geofence("b"), try geofence("c"), try geofence("d"),
        try geofence("quiet", notifiesOnExit: false), try geofence("far", north: 90_000),
    ])
    #expect(fences.left(by: Geofences()).isEmpty, "nothing is known yet")
    _ = fences.take(stay(0...1, 0))
    var changed = fences
    _ = changed.remove(["a", "quiet", "far"])
    _ = changed.add([
        try geofence("b", radius: 101), try geofence("c", notifiesOnExit: false), try geofence("d"),
    ])
    let left = fences.left(by: changed)
    #expect(left.map(\.fence.id) == ["a", "b", "c"])
    #expect(fences.left(by: fences).isEmpty)
    #expect(fences.earliest(of: left.map(\.key)) != nil)
    fences.forgetStates(of: [1, 2])
    #expect(fences.items.filter { $0.isInside == true }.map(\.fence.id) == ["c", "d", "quiet"])
    #expect(fences.items.first?.isInside == nil && fences.entered[1] == nil)
    // It is entered anew.
    #expect(fences.take(stay(2...4, 0)).count == 2)
}

@Test("fences are removed by id, unknown ids are ignored, and the others are unaffected")
func removedFences() throws {
    var fences = Geofences()
    _ = fences.add([try geofence("a"), try geofence("b", north: 500), try geofence("c")])
    _ = fences.take(stay(0...1, 0))
    #expect(fences.remove(["a", "nobody", "a"]) == 1)
    #expect(fences.items.map(\.fence.id) == ["b", "c"])
    #expect(fences.items.map(\.isInside) == [false, true])
    #expect(fences.take(stay(2...12, 300)) == ["exit 2"])
    // A fence added again under the same id is a different fence.
    _ = fences.add([try geofence("a", north: 300)])
    #expect(fences.take(stay(13...14, 300)) == ["enter 13"])
}

@Test("there are at most 10,000 fences, and what does not fit is not added in part")
func tooManyFences() throws {
    var fences = Geofences()
    let all = try (0..<Geofences.limit).map { try geofence("f\($0)", north: Double($0)) }
    #expect(fences.add(all) == nil)
    #expect(fences.add([try geofence("f0", radius: 5), try geofence("x"), try geofence("y")])?.id == "x")
    #expect(fences.count == Geofences.limit)
    #expect(fences.items.first?.fence.radius == 100)
    #expect(fences.add([try geofence("f0", radius: 5)]) == nil)
}

@Test(
    "what cannot be a fence is refused with the reason",
    arguments: [
        ("", 0, 0, 1, "1 to 100"), (String(repeating: "x", count: 101), 0, 0, 1, "1 to 100"),
        ("a\nb", 0, 0, 1, "printable"), ("a\u{1B}[2J", 0, 0, 1, "printable"),
        ("a\u{202E}b", 0, 0, 1, "printable"),
        ("a", 90.1, 0, 1, "latitude"), ("a", .nan, 0, 1, "latitude"), ("a", 0, 180.1, 1, "longitude"),
        ("a", 0, .infinity, 1, "longitude"), ("a", 0, 0, 0, "radius_meters"),
        ("a", 0, 0, -5, "radius_meters"),
        ("a", 0, 0, .nan, "radius_meters"), ("a", 0, 0, 1e300, "radius_meters"),
    ] as [(String, Double, Double, Double, String)])
func invalidFences(id: String, latitude: Double, longitude: Double, radius: Double, reason: String) {
    #expect {
        _ = try Geofence(id: id, latitude: latitude, longitude: longitude, radius: radius)
    } throws: {
        ($0 as? Geofence.Invalid)?.reason.contains(reason) ?? false
    }
}

@Test("an id may be printable text in any script", arguments: ["a", "Depot Süd, Tor 3", "東京", "x y"])
func printableIDs(id: String) throws {
    #expect(try Geofence(id: id, latitude: 0, longitude: 0, radius: 1).id == id)
    #expect(
        try Geofence(id: String(repeating: "é", count: 100), latitude: 0, longitude: 0, radius: 1).radius == 1
    )
}

@Test("page by page every fence is told once, whatever comes and goes meanwhile")
func pages() throws {
    var fences = Geofences()
    #expect(fences.page(after: nil, limit: 3).items.isEmpty && fences.page(after: "a", limit: 3).isLast)
    _ = fences.add(try (0..<10).map { try Geofence(id: "f\($0)", latitude: 0, longitude: 0, radius: 10) })
    func ids(after id: String?) -> [String] {
        let page = fences.page(after: id, limit: 4)
        return page.items.map(\.fence.id) + (page.isLast ? ["end"] : [])
    }
    #expect(ids(after: nil) == ["f0", "f1", "f2", "f3"])
    // One before and one after the place are gone, the place itself too, and one comes.
    _ = fences.remove(["f1", "f3", "f5"])
    _ = fences.add([try Geofence(id: "f35", latitude: 0, longitude: 0, radius: 10)])
    #expect(ids(after: "f3") == ["f35", "f4", "f6", "f7"])
    #expect(
        ids(after: "f7") == ["f8", "f9", "end"] && ids(after: "f9") == ["end"] && ids(after: "x") == ["end"])
    #expect(fences.page(after: nil, limit: 100).items == fences.items)
}

@Test("a fence keeps the time it was added, until another circle takes its place")
func timeOfAdding() throws {
    func fence(_ id: String, radius: Double = 100) throws -> Geofence {
        try Geofence(id: id, latitude: 1, longitude: 2, radius: radius)
    }
    let times = [1000, 2000, 3000].map { Timestamp(milliseconds: $0) }
    var fences = Geofences()
    #expect(fences.add([try fence("a"), try fence("b")], at: times[0]) == nil)
    #expect(fences.add([try fence("a"), try fence("b", radius: 50), try fence("c")], at: times[1]) == nil)
    #expect(["a", "b", "c", "d"].map { fences.addedAt($0) } == [times[0], times[1], times[1], nil])
    #expect(fences.remove(["a"]) == 1)
    #expect(fences.add([try fence("a")], at: times[2]) == nil)
    #expect(["a", "b", "c"].map { fences.addedAt($0) } == [times[2], times[1], times[1]])
    #expect(Geofences(fences.items).addedAt("b") == times[1])
}
