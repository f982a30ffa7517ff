import Base
import Support
import Testing
import Tracking

@testable import Storage

private func remember(_ second: Double, _ memory: Admission.Memory?, in workshop: Workshop) throws {
    _ = try workshop.store.insert(
        NewLocation(
            location: location(second, id: uuid(100 + Int(second))), session: uuid(1),
            sessionStartedAt: time(0),
            odometer: second, extras: nil, prunesByAge: false, memory: memory))
}

@Test("what is known of motion is written with the row that changes it, and outlives the row")
func motionMemorySurvives() throws {
    let workshop = try Workshop()
    let spot = try #require(Coordinate(latitude: -12.25, longitude: 179.5))
    let parked = Admission.Memory(motion: .stationary, spot: spot, checkInFrom: time(7))
    try remember(1, Admission.Memory(motion: .moving), in: workshop)
    try remember(2, parked, in: workshop)
    // A location that says nothing of it changes nothing.
    try remember(3, nil, in: workshop)
    for isAcknowledged in [false, true] {
        if isAcknowledged { _ = try workshop.store.acknowledge(try workshop.freeze()) }
        try workshop.reopen()
        let tail = try workshop.store.enter(session: uuid(1), startedAt: time(0))
        #expect(tail?.memory == parked)
        #expect(tail?.odometer == 3)
    }
    // Another session knows nothing of it, and the first is not forgotten by that.
    #expect(try workshop.store.enter(session: uuid(2), startedAt: time(9))?.memory == Admission.Memory())
    #expect(try workshop.store.enter(session: uuid(1), startedAt: time(0))?.memory == parked)
}
