import Base
import Support
import Testing

@testable import GPSD
@testable import Tracking

/// An input to the epochs: a TPV of an instant, marked by its speed; or just the passing of time.
private enum Act {
    case tpv(_ instant: Double, speed: Double? = nil, device: String = "A", at: Double)
    case expire(at: Double)
    case flush
}

private func tpv(_ instant: Double, speed: Double? = nil, device: String = "A") -> TPV {
    TPV(device: device, mode: 3, time: time(instant), latitude: 1, longitude: 2, speed: speed)
}

/// The closed epochs as text: the instant, the speed of the merged epoch, and the device unless it is A.
private func play(_ acts: [Act]) -> [[String]] {
    var epochs = Epochs()
    return acts.map { act in
        let closed =
            switch act {
            case .tpv(let instant, let speed, let device, let at):
                epochs.add(tpv(instant, speed: speed, device: device), now: boot(at))
            case .expire(let at): epochs.expire(now: boot(at))
            case .flush: epochs.flush()
            }
        return closed.map { epoch in
            let instant = epoch.time.map { Int($0.seconds(since: time(0))) } ?? -1
            let speed = epoch.speed.map { " \(Int($0))" } ?? ""
            return "\(instant)\(speed)" + (epoch.device == "A" ? "" : " " + epoch.device)
        }
    }
}

@Test("a receiver with one TPV per epoch is waited for only once")
func oneTPV() {
    #expect(
        play([
            .tpv(1, at: 1), .tpv(2, at: 2), .tpv(3, at: 3), .tpv(4, at: 4), .expire(at: 60), .flush,
        ]) == [[], ["1", "2"], ["3"], ["4"], [], []])
}

@Test("a receiver with two TPVs per epoch: each epoch closes with its second TPV, merged")
func twoTPVs() {
    #expect(
        play([
            .tpv(1, speed: 10, at: 1), .tpv(1, speed: 11, at: 1.1), .tpv(2, speed: 20, at: 2),
            .tpv(2, speed: 21, at: 2.1), .tpv(3, speed: 30, at: 3), .tpv(3, at: 3.1), .expire(at: 60),
        ]) == [[], [], ["1 11"], ["2 21"], [], ["3 30"], []])
}

@Test("a receiver with three TPVs per epoch, one of which is missing once")
func threeTPVs() {
    #expect(
        play([
            .tpv(1, at: 1), .tpv(1, at: 1.1), .tpv(1, at: 1.2),
            .tpv(2, at: 2), .tpv(2, at: 2.1), .tpv(2, at: 2.2),
            .tpv(3, at: 3), .tpv(3, at: 3.1),
            .tpv(4, at: 4), .tpv(4, at: 4.1), .tpv(4, at: 4.2),
        ]) == [[], [], [], ["1"], [], ["2"], [], [], ["3"], [], ["4"]])
}

@Test("the fullest of the last five epochs counts, and an older one no more")
func memoryOfFive() {
    var acts: [Act] = [.tpv(0, at: 0), .tpv(0, at: 0.1), .tpv(0, at: 0.2)]
    // From here on each epoch has one TPV. Five close only when the next one begins; then the three TPVs are
    // forgotten.
    for second in 1...8 { acts.append(.tpv(Double(second), at: Double(second))) }
    #expect(
        play(acts) == [[], [], [], ["0"], ["1"], ["2"], ["3"], ["4"], ["5", "6"], ["7"], ["8"]])
}

@Test("a late TPV is not a new fix; the following epochs wait for as many")
func lateTPV() {
    #expect(
        play([
            .tpv(1, at: 1), .tpv(2, at: 2), .tpv(3, speed: 30, at: 3), .tpv(3, speed: 31, at: 3.1),
            .tpv(4, speed: 40, at: 4), .tpv(4, speed: 41, at: 4.1),
        ]) == [[], ["1", "2"], ["3 30"], [], [], ["4 41"]])
}

@Test("a TPV that arrives after the next epoch has begun closes nothing and is not a new fix")
func veryLateTPV() {
    #expect(
        play([
            .tpv(1, at: 1), .tpv(1, at: 1.1), .tpv(2, at: 2), .tpv(2, at: 2.1),
            .tpv(3, at: 3), .tpv(2, at: 3.1), .tpv(3, at: 3.2), .tpv(3, at: 3.3),
        ]) == [[], [], ["1"], ["2"], [], [], [], ["3"]])
}

@Test("a frozen time yields a single fix")
func frozenTime() {
    var acts: [Act] = [.tpv(1, at: 1), .tpv(2, at: 2)]
    for second in 3...50 { acts += [.tpv(2, at: Double(second)), .expire(at: Double(second) + 0.9)] }
    #expect(play(acts).flatMap { $0 } == ["1", "2"])
    // When the time advances again, fixes resume.
    acts += [.tpv(3, at: 51), .tpv(4, at: 52), .expire(at: 53.5)]
    #expect(play(acts).flatMap { $0 } == ["1", "2", "3", "4"])
}

@Test("time that goes backwards is another time")
func backwardsTime() {
    #expect(play([.tpv(10, at: 1), .tpv(11, at: 2), .tpv(5, at: 3)]) == [[], ["10", "11"], ["5"]])
}

@Test("an epoch closes 1.5 s after its last TPV")
func expiry() {
    #expect(
        play([
            .tpv(1, at: 1), .expire(at: 2.4), .tpv(1, speed: 5, at: 2.4), .expire(at: 3.89), .expire(at: 3.9),
            .expire(at: 9),
        ]) == [[], [], [], [], ["1 5"], []])
}

@Test("the deadline is that of the epoch that has waited longest")
func epochDeadline() {
    var epochs = Epochs()
    #expect(epochs.deadline == nil)
    _ = epochs.add(tpv(1, device: "A"), now: boot(1))
    _ = epochs.add(tpv(1, device: "B"), now: boot(2))
    #expect(epochs.deadline == boot(2.5))
    _ = epochs.add(tpv(1, device: "A"), now: boot(2.2))
    #expect(epochs.deadline == boot(3.5))
    #expect(epochs.expire(now: boot(3.5)).map(\.device) == ["B"])
    #expect(epochs.flush().map(\.device) == ["A"])
    #expect(epochs.deadline == nil)
}

@Test("two receivers do not close each other's epochs")
func twoDevices() {
    #expect(
        play([
            .tpv(1, at: 1), .tpv(1.5, device: "B", at: 1.5), .tpv(2, at: 2), .tpv(2.5, device: "B", at: 2.5),
            .tpv(3, device: "B", at: 3.5), .tpv(3, at: 3), .flush,
        ]) == [[], [], ["1", "2"], ["1 B", "2 B"], ["3 B"], ["3"], []])
}

@Test("receivers under ever new names do not exhaust memory")
func manyDevices() {
    var epochs = Epochs()
    for number in 0..<1000 { _ = epochs.add(tpv(1, device: "\(number)"), now: boot(1)) }
    #expect(epochs.flush().count <= 16)
}

@Test("a TPV without a time belongs to no epoch")
func noTime() {
    var epochs = Epochs()
    #expect(epochs.add(TPV(device: "A", mode: 1, time: nil), now: boot(1)) == [])
    #expect(epochs.flush() == [])
}

@Test(
    "random streams: every instant closes once, in order, with all that came in time",
    arguments: 1...20 as ClosedRange<UInt64>)
func randomEpochs(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var epochs = Epochs()
    var closed: [TPV] = []
    for second in 0..<300 {
        let count = Int.random(in: 1...4, using: &random)
        for index in 0..<count {
            let report = tpv(Double(second), speed: Double(index))
            closed += epochs.add(report, now: boot(Double(second) + Double(index) / 10))
        }
        closed += epochs.expire(now: boot(Double(second) + 0.9))
    }
    closed += epochs.flush()
    #expect(closed.map(\.time) == (0..<300).map { time(Double($0)) }, "seed \(seed)")
}

@Test("a step back to the previous instant starts a new epoch, even while another waits for more reports")
func backToTheInstantBefore() {
    var epochs = Epochs()
    var closed: [TPV] = []
    // The second report of instant 2 is late, so the following epochs wait for two.
    for second in [1, 2, 2, 1, 2, 3] as [Double] {
        closed += epochs.add(TPV(device: "A", mode: 3, time: time(second)), now: boot(0))
    }
    closed += epochs.flush()
    #expect(closed.map(\.time) == [1, 2, 1, 2, 3].map { time($0) })
}

@Test("an instant that is told again after another has closed is an epoch of its own")
func toldAgain() {
    for instants in [[0, 0.5, 1, 0.4, 0.9], [0, 0.2, 0.4, 0, 0.2, 0.4, 0.6], [0, 1, 0, 1, 2, 1, 2, 3]] {
        var epochs = Epochs()
        var closed = instants.flatMap { epochs.add(tpv($0), now: boot(0)) }
        closed += epochs.flush()
        #expect(closed.map(\.time) == instants.map { time($0) })
    }
}

@Test("eph takes precedence, whichever report of the instant had it; a later one replaces it")
func mergedAccuracy() {
    var epoch = TPV(device: "A", mode: 3, time: time(1), epx: 3)
    #expect(epoch.accuracy == nil)
    epoch.merge(TPV(device: "A", mode: 3, time: time(1), epy: 4))
    #expect(epoch.accuracy == 5)
    epoch.merge(TPV(device: "A", mode: 3, time: time(1), eph: 9))
    #expect(epoch.accuracy == 9)
    epoch.merge(TPV(device: "A", mode: 3, time: time(1), epx: 6, epy: 8))
    #expect(epoch.accuracy == 9)
    epoch.merge(TPV(device: "A", mode: 3, time: time(1), eph: 7))
    #expect(epoch.accuracy == 7)
}

@Test("a later report of the instant replaces and adds values, but removes none")
func mergeRules() {
    var first = TPV(
        device: "A", mode: 2, time: time(1), latitude: 1, longitude: 2, eph: 3, speed: 4, bearing: 5)
    first.merge(TPV(device: "A", mode: 3, time: time(1), latitude: 1.5, altitude: 6, isSimulated: true))
    #expect(
        first
            == TPV(
                device: "A", mode: 3, time: time(1), latitude: 1.5, longitude: 2, eph: 3, speed: 4,
                bearing: 5,
                altitude: 6, isSimulated: true))
    first.merge(TPV(device: "A", mode: 3, time: time(1), speed: 0))
    #expect(first.speed == 0 && first.isSimulated)
}
